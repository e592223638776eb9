"""The pipeline while workers, RabbitMQ or Redis are killed, stopped or in the way."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import redis

from notify.local import PrivateServers
from notify.notification import Notification
from notify.outcomes import Reason
from notify.sandbox import Answer
from notify.topology import work_queue
from tests.broker.node import restart
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]


def test_a_worker_killed_in_mid_send_loses_nothing(deploy: Callable[..., Deployment]) -> None:
    """SIGKILL while the gateway has three requests: with ``resend`` all arrive in the end."""
    deployment = deploy(unknown="resend", deadline="3s", lease="8s", concurrency=3)
    numbers = [f"+49170000000{n}" for n in range(5)]
    for number in numbers:
        deployment.sandbox.script(number, Answer(delay=30), then=Answer())
    worker = deployment.worker()
    notifications = [sms(recipient=number) for number in numbers]
    deployment.send(*notifications)
    in_flight = deployment.sandbox.wait_for(3, 20)
    worker.kill()
    deployment.sandbox.script("*", Answer())
    for number in numbers:
        deployment.sandbox.script(number)
    deployment.worker()
    for notification in notifications:
        record = deployment.until_sent(notification.id)
        interrupted = notification.id in {item.id for item in in_flight}
        assert record.attempt == (2 if interrupted else 1)
    assert deployment.ready() == 0


def test_an_interrupted_send_is_archived_where_nobody_may_guess(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(unknown="archive", deadline="3s", lease="8s")
    deployment.sandbox.script("+491701234567", Answer(delay=30), then=Answer())
    worker = deployment.worker()
    notification = sms()
    deployment.send(notification)
    deployment.sandbox.wait_for(1, 20)
    worker.kill()
    deployment.worker()
    deployment.archiver()
    row = eventually(lambda: deployment.store.get(notification.id), "a dead letter", 40)[0]
    assert row.letter.reason == Reason.UNKNOWN_OUTCOME
    assert [(a["outcome"], a["reason"]) for a in row.letter.attempts] == [
        ("unknown", "worker_died")
    ]
    assert len(deployment.sandbox.received()) == 1


def test_sigterm_finishes_what_is_in_flight_and_hands_back_the_rest(
    deploy: Callable[..., Deployment],
) -> None:
    """Two sends take longer than two heartbeats to end; three messages were not begun."""
    deployment = deploy(concurrency=2, heartbeat=2, deadline="10s", lease="20s")
    for number in range(5):
        deployment.sandbox.script(f"+49170000000{number}", Answer(delay=6), then=Answer())
    worker = deployment.worker()
    notifications = [sms(recipient=f"+49170000000{number}") for number in range(5)]
    deployment.send(*notifications)
    begun = {item.id for item in deployment.sandbox.wait_for(2, 20)}
    assert worker.stop() == 0
    states = {n.id: deployment.ledger.record(n.id) for n in notifications}
    finished = {id for id, record in states.items() if record and record.state == "sent"}
    assert finished == begun
    assert {id for id, record in states.items() if record is None} == states.keys() - begun
    # Acknowledged, not only delivered: a message in flight whose acknowledgement was lost
    # would be ready again.
    eventually(lambda: deployment.ready() == 3, "three messages handed back")
    assert "connection lost" not in worker.text()


def test_a_confirmed_publish_survives_a_killed_broker(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    notification = sms()
    deployment.send(notification)
    restart(restartable)
    eventually(lambda: deployment.ready() == 1, "the message after the restart")
    deployment.worker()
    assert deployment.sandbox.wait_for(1, 20)[0].id == notification.id


def test_a_worker_consumes_again_after_a_broker_restart(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    """What was being sent is sent once; that it comes again is nothing to be alarmed by."""
    slow = sms(recipient="+491700000001")
    deployment.sandbox.script(slow.recipient, Answer(delay=4), then=Answer())
    worker = deployment.worker()
    deployment.send(slow)
    deployment.sandbox.wait_for(1, 20, accepted_only=False)
    restartable.restart_broker()
    notification = sms()
    deployment.send(notification)
    deployment.until_sent(notification.id)
    deployment.until_sent(slow.id)
    deployment.until_logged(worker, "a message will come again")
    received = [item.id for item in deployment.sandbox.received()]
    assert sorted(received) == sorted([slow.id, notification.id])
    assert worker.popen.poll() is None
    assert '"level":"CRITICAL"' not in worker.text()


def test_nothing_is_sent_while_redis_is_away_and_all_of_it_after(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    worker = deployment.worker()
    restartable.stop_redis()
    try:
        notifications = [sms() for _ in range(10)]
        deployment.send(*notifications)
        deployment.until_logged(worker, '"event":"paused"')
        eventually(lambda: deployment.ready() == 10, "all messages back in the queue")
        assert deployment.sandbox.received() == []
    finally:
        restartable.start_redis()
    received = deployment.sandbox.wait_for(10, 30)
    assert {item.id for item in received} == {n.id for n in notifications}
    assert worker.popen.poll() is None
    assert worker.text().count('"event":"handed back"') <= 8


STUCK = """
import time
from notify.cli import main
from notify.worker import assembly

class Stuck:
    name = "stuck"
    def send(self, notification, *, deadline):
        print("stuck now", flush=True)
        time.sleep(600)

assembly.build_provider = lambda *settings: Stuck()
main(["worker", "sms", "normal"])
"""


def test_a_send_that_ignores_its_deadline_ends_the_worker_and_loses_nothing(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(deadline="1s", lease="6s", unknown="resend")
    notification = sms()
    deployment.send(notification)
    stuck = subprocess.run(
        [sys.executable, "-c", STUCK],
        env=deployment.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert stuck.returncode == 70
    assert "send is stuck past its deadline" in stuck.stderr
    deployment.worker()
    record = deployment.until_sent(notification.id)
    assert record.attempt == 2


def test_nothing_is_sent_while_redis_refuses_writes(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    """Full: reads still work, so only a write tells when it is over."""
    worker = deployment.worker()
    server = redis.Redis.from_url(deployment.settings.redis.url)
    server.config_set("maxmemory", 1)
    try:
        notification = sms()
        deployment.send(notification)
        deployment.until_logged(worker, '"event":"paused"')
        deployment.until_depth(work_queue("sms", "normal"), 1)
        assert deployment.sandbox.received() == []
        assert "Redis: OutOfMemoryError" in worker.text()
    finally:
        server.config_set("maxmemory", 0)
        server.close()
    assert deployment.sandbox.wait_for(1, 30)[0].id == notification.id
    assert worker.text().count('"event":"paused"') == 1


def test_lost_keys_make_a_redelivered_message_unknown_and_leave_others_alone(
    deploy: Callable[..., Deployment],
) -> None:
    """The worker dies in mid-send, and Redis comes back without its data."""
    deployment = deploy(concurrency=1, unknown="archive", deadline="3s", lease="8s")
    deployment.sandbox.script("+491701234567", Answer(delay=30), then=Answer())
    worker = deployment.worker()
    other = deployment.start("worker", "email", "normal")
    deployment.until_logged(other, '"event":"ready"')
    begun, untouched = sms(), sms(recipient="+491701111111")
    mail = Notification(channel="email", recipient="a@example.com", subject="s", body="b")
    deployment.send(begun, mail)
    deployment.sandbox.wait_for(2, 20)
    deployment.send(untouched)
    worker.kill()
    server = redis.Redis.from_url(deployment.settings.redis.url)
    server.delete(*server.keys(f"{deployment.prefix}:*"))
    server.close()
    # The process that still runs has seen more steps than the ledger now has.
    deployment.send(mail.evolve(id="after-the-loss"))
    deployment.until_sent("after-the-loss")
    deployment.worker()
    deployment.archiver()
    row = eventually(lambda: deployment.store.get(begun.id), "a dead letter", 40)[0]
    assert row.letter.reason == Reason.UNKNOWN_OUTCOME
    assert [attempt["reason"] for attempt in row.letter.attempts] == ["ledger_lost"]
    deployment.until_sent(untouched.id)
    health = deployment.ledger.health()
    assert health.intact_since is not None
    assert health.at_risk >= 1
