"""The pipeline with real workers, real RabbitMQ and Redis, and the recording sandbox."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from notify.broker import Publisher
from notify.broker.channel import connect, drop
from notify.message import Envelope, encode
from notify.notification import Notification
from notify.outcomes import Reason
from notify.sandbox import Answer
from notify.store import Filter
from notify.topology import rung, work_queue
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]


def test_every_channel_delivers_and_the_ledger_says_by_whom(deployment: Deployment) -> None:
    for channel in ("sms", "email", "webhook"):
        deployment.worker(channel)
    hook = f"{deployment.sandbox.http_url}/hook/orders"
    notifications = [
        sms("您好 👋"),
        Notification(channel="email", recipient="ada@example.com", subject="Тема", body="Привет"),
        Notification(channel="webhook", recipient=hook, data={"state": "已发货", "n": 1}),
    ]
    deployment.send(*notifications)
    received = deployment.sandbox.wait_for(3, 20)
    assert {item.id for item in received} == {n.id for n in notifications}
    for notification, provider in zip(notifications, ("texts", "mails", "hooks"), strict=True):
        record = deployment.until_settled(notification.id)
        assert (record.state, record.provider, record.attempt) == ("sent", provider, 1)


def test_retries_wait_on_the_rungs_and_no_worker_holds_the_message(deployment: Deployment) -> None:
    """503 three times: attempts after 1, 2 and 4 s, one rung each."""
    deployment.sandbox.script("+491701234567", *[Answer(status=503)] * 3)
    deployment.worker()
    notification = sms()
    deployment.send(notification)
    for attempt, seconds in ((1, 1), (2, 2), (3, 4)):
        deployment.sandbox.wait_for(attempt, 20, accepted_only=False)
        waiting = rung("normal", seconds)
        deployment.until_depth(waiting, 1)
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
    deployment.send(notification)
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
    record = deployment.until_settled(notification.id)
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
    deployment.send(notification)
    row = eventually(lambda: deployment.store.get(notification.id), "a dead letter")[0]
    assert row.letter.reason == Reason.RETRIES_EXHAUSTED
    assert [a["attempt"] for a in row.letter.attempts] == [1, 2, 3]


def test_the_same_id_is_delivered_once_and_other_content_is_a_conflict(
    deployment: Deployment,
) -> None:
    deployment.worker()
    deployment.archiver()
    first = sms(id="order-7")
    deployment.send(first, first, first)
    deployment.sandbox.wait_for(1, 20)
    deployment.until_settled("order-7")
    deployment.send(first.evolve(body="Something else"))
    row = eventually(lambda: deployment.store.get("order-7"), "a dead letter")[0]
    assert row.letter.reason == Reason.CONFLICT
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    assert [item.body for item in deployment.sandbox.received()] == ["Hello"]


def test_an_expired_notification_is_archived_unsent(deployment: Deployment) -> None:
    """It waited too long for a worker: published in time, late when it is taken."""
    notification = sms(expires_at=datetime.now(UTC) + timedelta(seconds=1))
    deployment.send(notification)
    eventually(lambda: notification.expired(datetime.now(UTC)), "the expiry")
    deployment.worker()
    deployment.archiver()
    row = eventually(lambda: deployment.store.get(notification.id), "a dead letter")[0]
    assert row.letter.reason == Reason.EXPIRED
    assert deployment.sandbox.received() == []


def test_urgent_does_not_wait_behind_normal(deployment: Deployment) -> None:
    deployment.sandbox.script("*", then=Answer(delay=0.3))
    deployment.worker("sms", "normal")
    deployment.worker("sms", "urgent")
    deployment.send(*[sms(recipient=f"+4917000{n:05}") for n in range(100)])
    deployment.sandbox.wait_for(4, 20)
    urgent = sms(priority="urgent", recipient="+491799999999")
    published = time.time()
    deployment.send(urgent)
    arrived = deployment.sandbox.wait_for(1, 20, urgent.recipient)[0].at
    assert arrived - published < 5
    assert deployment.ready() > 0


def test_a_retry_whose_queue_is_gone_is_archived(deployment: Deployment) -> None:
    """A message returns from its rung to a routing key that nothing is bound to."""
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    connection.channel().queue_delete(work_queue("email", "normal"))
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
