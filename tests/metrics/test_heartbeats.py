"""Heartbeats go through every step but the provider, and leave no trace where traces matter."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from notify.config.numbers import PROCESSES
from notify.heartbeat.values import heartbeat
from notify.message import Envelope, Message, encode
from notify.notification import Notification
from notify.publishcount import open_publisher
from notify.recipients import NULL_RECIPIENTS
from notify.store.filters import Filter
from notify.topology import DEAD
from tests.deployment import Deployment, sms
from tests.metrics.scrapes import samples, until_shown, value
from tests.ports import first_of
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

SUCCESS = "notify_heartbeat_last_success_timestamp_seconds"
URGENT = {"channel": "sms", "priority": "urgent"}
NORMAL = {"channel": "sms", "priority": "normal"}
LIMITED = (
    '[[providers]]\nname = "texts"\ntype = "http-sms"\nurl = "${NOTIFY_SANDBOX_HTTP}/sms"\n'
    "[providers.limits]\ndaily = 2\nurgent_share = 0\n"
)


@pytest.fixture
def beating(deploy: Callable[..., Deployment]) -> Callable[..., tuple[Deployment, int]]:
    """A deployment with a heartbeat every other second, and its first port."""

    def make(**options: object) -> tuple[Deployment, int]:
        first = first_of(len(PROCESSES))
        beats = f'{first}\nlook_every = "0.2s"\nheartbeat_every = "2s"'
        return deploy(metrics=beats, **options), first

    return make


def test_a_heartbeat_comes_through_and_is_sent_to_nobody(
    beating: Callable[..., tuple[Deployment, int]],
) -> None:
    deployment, first = beating(providers={"sms": LIMITED})
    deployment.worker("sms", "urgent")
    deployment.start("exporter")
    since = datetime.now(UTC).timestamp()

    def came() -> bool:
        taken = value(samples(first), "notify_heartbeats_total", **URGENT, done="settled") or 0
        # More than the day's cap: none of them was counted.
        return taken > 2

    eventually(came, "three heartbeats", 60)
    until_shown(first + 8)
    exporter = samples(first + 8)
    assert (value(exporter, SUCCESS, **URGENT) or 0) >= since - 1
    assert (value(exporter, "notify_heartbeat_seconds_count", **URGENT) or 0) >= 1
    assert value(exporter, SUCCESS, **NORMAL) == 0
    assert value(exporter, "notify_heartbeats_published_total", **NORMAL, outcome="no_consumer")
    worker = samples(first)
    assert not [key for key in worker if key[0] == "notify_attempts_total" and worker[key]]
    assert not [key for key in worker if key[0] == "notify_delivery_seconds_count" and worker[key]]
    assert deployment.sandbox.received() == []
    assert deployment.ready("sms", "normal") == 0


def test_where_nobody_consumes_nothing_piles_up_and_nothing_is_archived(
    beating: Callable[..., tuple[Deployment, int]],
) -> None:
    deployment, first = beating()
    deployment.start("exporter")
    archiver = deployment.archiver()
    skipped = {"outcome": "no_consumer", **URGENT}

    def unpublished() -> bool:
        return (value(samples(first + 8), "notify_heartbeats_published_total", **skipped) or 0) > 2

    until_shown(first + 8)
    eventually(unpublished, "heartbeats that are not published", 60)
    assert deployment.ready("sms", "urgent") <= 1
    # One that died all the same, as after too many deliveries.
    lost = encode(heartbeat("sms", "urgent", datetime.now(UTC), 1.0), now=datetime.now(UTC))
    publish(deployment, DEAD, lost)
    dropped = "notify_heartbeats_dropped_total"
    eventually(lambda: value(samples(first + 6), dropped), "the dropped heartbeat")
    assert archiver.popen.poll() is None
    assert deployment.depth(DEAD) == 0
    assert deployment.store.count(Filter()) == 0


def test_what_came_too_late_is_let_go(deployment: Deployment) -> None:
    now = datetime.now(UTC)
    late = heartbeat("sms", "normal", now - timedelta(seconds=90), 60.0)
    deployment.publish_raw(late)
    deployment.worker()
    last = sms()
    deployment.send(last)
    deployment.until_sent(last.id)
    assert deployment.ledger.record(late.notification.id) is None


def test_the_header_alone_keeps_nothing_from_its_recipient(deployment: Deployment) -> None:
    forged = Envelope(notification=sms(), heartbeat=True)
    deployment.publish_raw(forged)
    deployment.worker()
    deployment.until_sent(forged.notification.id)
    assert len(deployment.sandbox.received()) == 1


def test_the_null_recipient_alone_is_a_recipient_like_any_other(deployment: Deployment) -> None:
    plain = Notification(channel="sms", recipient=NULL_RECIPIENTS["sms"], body="Hello")
    deployment.publish_raw(Envelope(notification=plain))
    deployment.worker()
    deployment.until_sent(plain.id)
    assert len(deployment.sandbox.received()) == 1


def publish(deployment: Deployment, exchange: str, message: Message) -> None:
    with closing(open_publisher(deployment.settings)) as publisher:
        publisher.publish(exchange, message)
