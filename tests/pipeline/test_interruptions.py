"""What is taken away from a worker under its hands: its channel, its ledger, its queue."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from notify import provision
from notify.broker.channel import connect, drop
from notify.local import PrivateServers
from notify.outcomes import Reason
from notify.sandbox import Answer
from notify.topology import work_queue
from tests.broker.node import control
from tests.deployment import Deployment, Process, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

QUEUE = work_queue("sms", "normal")
# A worker that waits for longer than this counts as one that has stopped.
WITHIN = 10.0

_SET = (
    "application:set_env(rabbit, consumer_timeout, {}), "
    "application:set_env(rabbit, channel_tick_interval, {})."
)


@contextmanager
def impatient(servers: PrivateServers, seconds: float) -> Iterator[None]:
    """RabbitMQ waits for so long for an acknowledgement, and looks often."""
    control(servers, "eval", _SET.format(int(seconds * 1000), 500))
    try:
        yield
    finally:
        control(servers, "eval", _SET.format(1_800_000, 60_000))


def test_a_gateway_slower_than_the_consumer_timeout_stops_nothing(
    deploy: Callable[..., Deployment], restartable: PrivateServers
) -> None:
    """One send answers late, one never: RabbitMQ takes both messages back meanwhile."""
    deployment = deploy(deadline="14s", lease="20s", unknown="archive")
    late, never = sms(recipient="+491700000001"), sms(recipient="+491700000002")
    deployment.sandbox.script(late.recipient, Answer(delay=12), then=Answer())
    deployment.sandbox.script(never.recipient, then=Answer(delay=60))
    with impatient(restartable, 2):
        worker = deployment.worker()
        deployment.archiver()
        others = [sms(recipient=f"+4917100000{n:02}") for n in range(10)]
        deployment.send(late, never, *others)
        deployment.until_logged(worker, "Connection to broker lost", 20)
        lost = time.monotonic()
        after = sms(recipient="+491720000000")
        deployment.send(after)
        deployment.sandbox.wait_for(1, 30, after.recipient)
        assert time.monotonic() - lost < WITHIN
        for notification in (late, *others):
            assert deployment.until_sent(notification.id).attempt == 1
        row = eventually(lambda: deployment.store.get(never.id), "a dead letter", 40)[0]
    assert row.letter.reason == Reason.UNKNOWN_OUTCOME
    assert [attempt["outcome"] for attempt in row.letter.attempts] == ["unknown"]
    sent = Counter(item.id for item in deployment.sandbox.received())
    assert sent == Counter(n.id for n in (late, never, after, *others))
    assert worker.popen.poll() is None


def test_a_frozen_redis_pauses_a_worker_that_goes_on_when_it_answers(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    """Two sends are under way, two threads are free, and there is a backlog."""
    begun = [sms(recipient=f"+491700000000{n}") for n in range(2)]
    for notification in begun:
        deployment.sandbox.script(notification.recipient, then=Answer(delay=3))
    worker = deployment.worker()
    deployment.send(*begun)
    deployment.sandbox.wait_for(2, 20)
    os.kill(restartable.redis_pid, signal.SIGSTOP)
    frozen = time.monotonic()
    try:
        backlog = [sms() for _ in range(20)]
        deployment.send(*backlog)
        deployment.until_logged(worker, '"event":"paused"')
        deployment.until_depth(QUEUE, len(backlog))
        eventually(lambda: time.monotonic() - frozen > 10, "ten seconds without Redis")
        assert len(deployment.sandbox.received()) == len(begun)
        assert deployment.ready() == len(backlog)
    finally:
        os.kill(restartable.redis_pid, signal.SIGCONT)
    thawed = time.monotonic()
    deployment.sandbox.wait_for(len(begun) + 1, 30)
    assert time.monotonic() - thawed < WITHIN
    for notification in (*begun, *backlog):
        assert deployment.until_sent(notification.id).attempt == 1
    sent = Counter(item.id for item in deployment.sandbox.received())
    assert sent == Counter(n.id for n in (*begun, *backlog))
    text = worker.text()
    assert (text.count('"event":"paused"'), text.count('"event":"resumed"')) == (1, 1)
    assert 1 <= text.count('"event":"handed back"') <= 4
    assert worker.popen.poll() is None


def test_a_queue_that_is_made_anew_is_consumed(deployment: Deployment) -> None:
    """Deleted and declared within milliseconds, when some of its messages were delivered."""
    worker = deployment.worker()
    before = [sms() for _ in range(10)]
    deployment.send(*before)
    for notification in before:
        deployment.until_sent(notification.id)
    make_anew(deployment)
    anew = time.monotonic()
    after = [sms() for _ in range(2)]
    deployment.send(*after)
    for notification in after:
        worker = supervised(deployment, worker, notification.id)
    assert time.monotonic() - anew < 30
    sent = Counter(item.id for item in deployment.sandbox.received())
    assert sent == Counter(n.id for n in (*before, *after))


def make_anew(deployment: Deployment) -> None:
    arguments = {q.name: q.arguments for q in provision.wanted(deployment.settings).queues}
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    try:
        channel = connection.channel()
        channel.queue_delete(QUEUE)
        channel.queue_declare(QUEUE, durable=True, auto_delete=False, arguments=arguments[QUEUE])
    finally:
        drop(connection)
    provision.declare_all(deployment.settings)


def supervised(deployment: Deployment, worker: Process, id: str) -> Process:
    """Waits for a delivery; a worker that ends because it takes nothing is started again."""

    def sent() -> bool:
        nonlocal worker
        if worker.popen.poll() is not None:
            assert worker.popen.returncode == 70
            worker = deployment.worker()
        record = deployment.ledger.record(id)
        return record is not None and record.state == "sent"

    eventually(sent, f"{id} delivered", 60)
    return worker
