"""The pipeline with real workers, real RabbitMQ and Redis, and the recording sandbox."""

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from notify.broker import Publisher
from notify.broker.channel import connect, drop
from notify.ledger import Record
from notify.local import PrivateServers
from notify.message import Envelope, encode
from notify.notification import Notification
from notify.outcomes import Reason
from notify.publish import Client
from notify.sandbox import Answer
from notify.store import Filter
from notify.topology import rung, work_queue
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]


def send(deployment: Deployment, *notifications: Notification) -> None:
    with Client(deployment.settings) as client:
        for notification in notifications:
            client.send(notification)


def test_every_channel_delivers_and_the_ledger_says_by_whom(deployment: Deployment) -> None:
    for channel in ("sms", "email", "webhook"):
        deployment.worker(channel)
    hook = f"{deployment.sandbox.http_url}/hook/orders"
    notifications = [
        sms("您好 👋"),
        Notification(channel="email", recipient="ada@example.com", subject="Тема", body="Привет"),
        Notification(channel="webhook", recipient=hook, data={"state": "已发货", "n": 1}),
    ]
    send(deployment, *notifications)
    received = deployment.sandbox.wait_for(3, 20)
    assert {item.id for item in received} == {n.id for n in notifications}
    for notification, provider in zip(notifications, ("texts", "mails", "hooks"), strict=True):
        record = until_settled(deployment, notification.id)
        assert (record.state, record.provider, record.attempt) == ("sent", provider, 1)


def until_settled(deployment: Deployment, id: str) -> Record:
    def settled() -> Record | None:
        record = deployment.ledger.record(id)
        return record if record and record.state != "sending" and not record.unpublished else None

    return eventually(settled, f"{id} settled")


def test_retries_wait_on_the_rungs_and_no_worker_holds_the_message(deployment: Deployment) -> None:
    """503 three times: attempts after 1, 2 and 4 s, one rung each."""
    deployment.sandbox.script("+491701234567", *[Answer(status=503)] * 3)
    deployment.worker()
    notification = sms()
    send(deployment, notification)
    for attempt, seconds in ((1, 1), (2, 2), (3, 4)):
        deployment.sandbox.wait_for(attempt, 20, accepted_only=False)
        waiting = rung("normal", seconds)
        until_depth(deployment, waiting, 1)
        assert deployment.ready() == 0
        record = deployment.ledger.record(notification.id)
        assert record is not None
        assert (record.state, record.attempt) == ("waiting", attempt)
        eventually(
            lambda: deployment.unacknowledged(work_queue("sms", "normal")) == 0,
            "nothing held by the worker",
        )
    deployment.sandbox.wait_for(1, 20)
    times = [item.at for item in deployment.sandbox.received()]
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert [int(wait) for wait in waits] == [1, 2, 4]


def test_a_permanent_failure_is_archived_with_its_attempts_and_replayed(
    deployment: Deployment,
) -> None:
    """The first attempt fails for a while, the second for good; the replay is generation 2."""
    deployment.sandbox.script("+491701234567", Answer(status=500), Answer(status=400))
    deployment.worker()
    deployment.archiver()
    notification = sms(labels={"order": "7"})
    send(deployment, notification)
    row = eventually(lambda: deployment.store.get(notification.id), "a dead letter")[0]
    assert (row.letter.reason, row.letter.generation, row.state) == ("refused", 1, "open")
    assert dict(row.letter.labels) == {"order": "7"}
    story = [(a["attempt"], a["outcome"], a["reason"], a["code"]) for a in row.letter.attempts]
    assert story == [(1, "temporary", "provider_error", "500"), (2, "permanent", "refused", "400")]

    preview = deployment.cli("dead", "replay", notification.id)
    assert preview.returncode == 0
    assert "nothing was sent" in preview.stdout
    assert deployment.sandbox.received()[-1].answered == "400"

    replayed = deployment.cli("dead", "replay", notification.id, "--yes")
    assert replayed.returncode == 0, replayed.stderr
    deployment.sandbox.wait_for(1, 20)
    record = until_settled(deployment, notification.id)
    assert (record.state, record.generation, record.attempt) == ("sent", 2, 1)
    assert deployment.store.get(notification.id)[0].state == "replayed"
    again = deployment.cli("dead", "replay", notification.id, "--yes")
    assert again.returncode == 5
    assert "delivered since" in again.stdout
    assert sum(item.accepted for item in deployment.sandbox.received()) == 1


def test_retries_that_never_succeed_end_in_the_archive(deploy: Callable[..., Deployment]) -> None:
    deployment = deploy(give_up_after="4s")
    deployment.sandbox.script("+491701234567", then=Answer(status=503))
    deployment.worker()
    deployment.archiver()
    notification = sms()
    send(deployment, notification)
    row = eventually(lambda: deployment.store.get(notification.id), "a dead letter")[0]
    assert row.letter.reason == Reason.RETRIES_EXHAUSTED
    assert [a["attempt"] for a in row.letter.attempts] == [1, 2, 3]


def test_the_same_id_is_delivered_once_and_other_content_is_a_conflict(
    deployment: Deployment,
) -> None:
    deployment.worker()
    deployment.archiver()
    first = sms(id="order-7")
    send(deployment, first, first, first)
    deployment.sandbox.wait_for(1, 20)
    until_settled(deployment, "order-7")
    send(deployment, first.evolve(body="Something else"))
    row = eventually(lambda: deployment.store.get("order-7"), "a dead letter")[0]
    assert row.letter.reason == Reason.CONFLICT
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    assert [item.body for item in deployment.sandbox.received()] == ["Hello"]


def test_an_expired_notification_is_archived_unsent(deployment: Deployment) -> None:
    """It waited too long for a worker: published in time, late when it is taken."""
    notification = sms(expires_at=datetime.now(UTC) + timedelta(seconds=1))
    send(deployment, notification)
    eventually(lambda: notification.expired(datetime.now(UTC)), "the expiry")
    deployment.worker()
    deployment.archiver()
    row = eventually(lambda: deployment.store.get(notification.id), "a dead letter")[0]
    assert row.letter.reason == Reason.EXPIRED
    assert deployment.sandbox.received() == []


def test_a_worker_killed_in_mid_send_loses_nothing(deploy: Callable[..., Deployment]) -> None:
    """SIGKILL while the gateway has three requests: with ``resend`` all arrive in the end."""
    deployment = deploy(unknown="resend", deadline="3s", lease="8s", concurrency=3)
    numbers = [f"+49170000000{n}" for n in range(5)]
    for number in numbers:
        deployment.sandbox.script(number, Answer(delay=30), then=Answer())
    worker = deployment.worker()
    notifications = [sms(recipient=number) for number in numbers]
    send(deployment, *notifications)
    in_flight = deployment.sandbox.wait_for(3, 20)
    worker.kill()
    deployment.sandbox.script("*", Answer())
    for number in numbers:
        deployment.sandbox.script(number)
    deployment.worker()
    for notification in notifications:
        record = until_sent(deployment, notification.id)
        interrupted = notification.id in {item.id for item in in_flight}
        assert record.attempt == (2 if interrupted else 1)
    assert deployment.ready() == 0


def until_sent(deployment: Deployment, id: str) -> Record:
    def sent() -> Record | None:
        record = deployment.ledger.record(id)
        return record if record and record.state == "sent" else None

    return eventually(sent, f"{id} delivered", 40)


def until_depth(deployment: Deployment, queue: str, count: int) -> None:
    eventually(lambda: deployment.depth(queue) == count, f"{count} messages on {queue}")


def test_an_interrupted_send_is_archived_where_nobody_may_guess(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(unknown="archive", deadline="3s", lease="8s")
    deployment.sandbox.script("+491701234567", Answer(delay=30), then=Answer())
    worker = deployment.worker()
    notification = sms()
    send(deployment, notification)
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
    send(deployment, *notifications)
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


def test_urgent_does_not_wait_behind_normal(deployment: Deployment) -> None:
    deployment.sandbox.script("*", then=Answer(delay=0.3))
    deployment.worker("sms", "normal")
    deployment.worker("sms", "urgent")
    send(deployment, *[sms(recipient=f"+4917000{n:05}") for n in range(100)])
    deployment.sandbox.wait_for(4, 20)
    urgent = sms(priority="urgent", recipient="+491799999999")
    published = time.time()
    send(deployment, urgent)
    arrived = deployment.sandbox.wait_for(1, 20, urgent.recipient)[0].at
    assert arrived - published < 5
    assert deployment.ready() > 0


def test_a_retry_whose_queue_is_gone_is_archived(deployment: Deployment) -> None:
    """A message returns from its rung to a routing key that nothing is bound to."""
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    connection.connection.channel().queue_delete(work_queue("email", "normal"))
    drop(connection)
    deployment.archiver()
    deployment.worker()
    publisher = Publisher([deployment.vhost_url])
    gone = [
        Notification(channel="email", recipient="a@example.com", subject="s", body="b")
        for _ in range(40)
    ]
    for notification in gone:
        message = encode(Envelope(notification=notification, attempt=2), now=datetime.now(UTC))
        publisher.publish(rung("normal", 1), message)
    still = sms()
    publisher.publish(
        rung("normal", 1), encode(Envelope(notification=still, attempt=2), now=datetime.now(UTC))
    )
    publisher.close()
    deployment.sandbox.wait_for(1, 20, still.recipient)
    eventually(lambda: deployment.store.count(Filter()) == 40, "40 dead letters")
    rows = deployment.store.find(Filter())
    assert {row.letter.reason for row in rows} == {Reason.UNROUTABLE}
    assert {row.letter.id for row in rows} == {notification.id for notification in gone}


def test_a_confirmed_publish_survives_a_killed_broker(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    notification = sms()
    send(deployment, notification)
    restartable.restart_broker(kill=True)
    eventually(lambda: deployment.ready() == 1, "the message after the restart")
    deployment.worker()
    assert deployment.sandbox.wait_for(1, 20)[0].id == notification.id


def test_a_worker_consumes_again_after_a_broker_restart(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    worker = deployment.worker()
    restartable.restart_broker()
    notification = sms()
    send(deployment, notification)
    assert deployment.sandbox.wait_for(1, 30)[0].id == notification.id
    assert worker.popen.poll() is None


def test_nothing_is_sent_while_redis_is_away_and_all_of_it_after(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    worker = deployment.worker()
    restartable.stop_redis()
    try:
        notifications = [sms() for _ in range(10)]
        send(deployment, *notifications)
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
from notify.worker import run

class Stuck:
    name = "stuck"
    def send(self, notification, *, deadline):
        print("stuck now", flush=True)
        time.sleep(600)

run.build_provider = lambda settings: Stuck()
main(["worker", "sms", "normal"])
"""


def test_a_send_that_ignores_its_deadline_ends_the_worker_and_loses_nothing(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(deadline="1s", lease="6s", unknown="resend")
    notification = sms()
    send(deployment, notification)
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
    record = until_sent(deployment, notification.id)
    assert record.attempt == 2
