"""What is counted where no socket is needed to know it."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from notify.archivecount import CountedArchive
from notify.broker import Outgoing, Publisher, Result
from notify.config import Settings
from notify.config.numbers import MetricsSettings
from notify.deadletter import DeadLetter
from notify.errors import (
    BrokerBlocked,
    BrokerUnavailable,
    LedgerUnavailable,
    ManagementUnavailable,
    NotifyError,
    QueueFull,
    StoreUnavailable,
    TopologyMismatch,
    Unconfirmed,
    Unroutable,
)
from notify.exporter.sampling import Sampler
from notify.heartbeat.values import heartbeat
from notify.ledger import Health
from notify.message import HEARTBEAT, Message, decode, encode_parts
from notify.metrics import (
    ArchiverMetrics,
    BeatMetrics,
    ExporterMetrics,
    Metrics,
    ProcessMetrics,
    folded,
)
from notify.metrics.process import PUBLISHED, OwnProcess, fingerprint
from notify.notification import CHANNELS, PRIORITIES, Notification
from notify.publishcount import CountedPublisher, outcome
from notify.recipients import NULL_RECIPIENTS, RECIPIENT_CHECKS
from notify.schedule.counting import CountedClient
from tests.metrics.scrapes import Sample, value

NOW = datetime(2027, 1, 1, 12, 0, tzinfo=UTC)


def shown(metrics: ProcessMetrics) -> dict[Sample, float]:
    text = generate_latest(metrics.registry).decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def letter(**values: Any) -> DeadLetter:
    usual = {"reason": "refused", "channel": "sms", "dead_at": NOW - timedelta(seconds=5)}
    return DeadLetter(**{**usual, **values})


class Shelf:
    """An archive that can be away."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []
        self.away = False

    def create(self) -> None: ...

    def add(self, letters: Sequence[DeadLetter]) -> int:
        if self.away:
            raise StoreUnavailable("the disk is gone")
        self.letters += letters
        return len(letters)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def archive(shelf: Shelf) -> tuple[CountedArchive, ArchiverMetrics]:
    metrics = ArchiverMetrics()
    return CountedArchive(shelf, metrics, lambda: NOW), metrics


def test_letters_are_counted_by_what_is_known_of_them(
    archive: tuple[CountedArchive, ArchiverMetrics],
) -> None:
    counted, metrics = archive
    strange = letter(channel=None, reason="because of ada@example.com")
    assert counted.add([letter(), letter(), strange]) == 3
    seen = shown(metrics)
    assert value(seen, "notify_dead_letters_total", channel="sms", reason="refused") == 2
    assert value(seen, "notify_dead_letters_total", channel="", reason="other") == 1
    assert value(seen, "notify_archive_lag_seconds_sum") == 15
    assert value(seen, "notify_archive_batch_letters_sum") == 3
    assert value(seen, "notify_archive_oldest_waiting_seconds") == 0
    # A first letter has to be seen as one more than none.
    assert value(seen, "notify_dead_letters_total", channel="email", reason="poison") == 0


def test_an_archive_that_is_away_is_seen_until_it_stores_again(
    shelf: Shelf, archive: tuple[CountedArchive, ArchiverMetrics]
) -> None:
    counted, metrics = archive
    counted.create()
    assert value(shown(metrics), "notify_archive_up") == 1
    shelf.away = True
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            counted.add([letter()])
        counted.create()  # its tables can be read all the same
    seen = shown(metrics)
    assert value(seen, "notify_archive_up") == 0
    assert value(seen, "notify_archive_failures_total") == 2
    assert value(seen, "notify_archive_oldest_waiting_seconds") == 5
    shelf.away = False
    counted.add([letter()])
    assert value(shown(metrics), "notify_archive_up") == 1
    assert value(shown(metrics), "notify_archive_oldest_waiting_seconds") == 0


def test_heartbeats_are_no_letters(
    shelf: Shelf, archive: tuple[CountedArchive, ArchiverMetrics]
) -> None:
    counted, metrics = archive
    marked: dict[str, Any] = {HEARTBEAT: True}
    null, id = NULL_RECIPIENTS["sms"], "heartbeat:sms-normal:60-1"
    dead = letter(recipient=null, headers=marked, id=id)
    others = [
        letter(recipient="+491701234567", headers=marked, id=id),
        letter(recipient=null, id=id),
        letter(recipient=null, headers=marked, id="order-7"),
    ]
    counted.add([dead, *others])
    assert shelf.letters == others
    assert value(shown(metrics), "notify_heartbeats_dropped_total") == 1
    assert counted.add([dead]) == 0


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("priority", PRIORITIES)
def test_a_heartbeat_is_the_same_whoever_publishes_it(channel: str, priority: str) -> None:
    one = heartbeat(channel, priority, NOW, 60.0)
    other = heartbeat(channel, priority, NOW + timedelta(seconds=59), 60.0)
    later = heartbeat(channel, priority, NOW + timedelta(seconds=60), 60.0)
    assert one.notification.id == other.notification.id != later.notification.id
    assert one.notification.digest == other.notification.digest
    assert one.notification.expired(NOW + timedelta(seconds=60))
    assert RECIPIENT_CHECKS[channel](NULL_RECIPIENTS[channel]) is None
    assert decode(*encode_parts(one)) == one


ERRORS: dict[NotifyError | None, str] = {
    None: "confirmed",
    Unroutable(): "unroutable",
    QueueFull(): "refused",
    Unconfirmed(): "unconfirmed",
    BrokerBlocked(): "blocked",
    BrokerUnavailable(): "unavailable",
    TopologyMismatch([]): "failed",
}


@pytest.mark.parametrize(("error", "name"), ERRORS.items(), ids=str)
def test_publishes_are_counted_by_the_answer(
    error: NotifyError | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(*_: object, **__: object) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(Publisher, "publish", publish)
    metrics = ProcessMetrics()
    publisher = CountedPublisher([], connect_timeout=1, confirm_timeout=1, metrics=metrics)
    message = Message(body=b"", headers={}, properties={}, routing_key="sms.normal")
    for exchange in ("notify", ""):
        try:
            publisher.publish(exchange, message)
        except NotifyError as raised:
            assert raised is error
    assert outcome(error) == name
    assert name in PUBLISHED
    assert value(shown(metrics), "notify_publishes_total", outcome=name) == 1


def test_what_a_beat_publishes_is_counted_once_by_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [None, None, *(each for each in ERRORS if each is not None)]

    def publish_many(_: object, items: Iterable[Outgoing], **__: object) -> Iterator[Result]:
        for item, error in zip(items, answers, strict=True):
            yield Result(key=item.key, error=error)

    monkeypatch.setattr(Publisher, "publish_many", publish_many)
    provider = {"name": "texts", "type": "http-sms", "url": "http://localhost/sms"}
    settings = Settings.model_validate({"channels": {"sms": {"providers": [provider]}}})
    valid: dict[str, Any] = {"channel": "sms", "recipient": "+491701234567", "body": "Hello"}
    # Too late to be given to RabbitMQ.
    late = Notification(**valid, expires_at=NOW - timedelta(days=365))
    metrics = BeatMetrics()
    with CountedClient(settings, metrics) as client:
        sent = list(client.send_many([late, *(Notification(**valid) for _ in answers)]))
    assert [each.error for each in sent if each.id != late.id] == answers
    assert isinstance(next(each.error for each in sent if each.id == late.id), NotifyError)
    seen = shown(metrics)
    counts = {name: value(seen, "notify_publishes_total", outcome=name) for name in PUBLISHED}
    assert counts == dict.fromkeys(PUBLISHED, 1) | {"confirmed": 2}


def test_a_process_shows_itself_where_a_sandbox_hides_the_system(tmp_path: Path) -> None:
    """As with ProcSubset=pid: the processes' own files, and no others."""
    (tmp_path / "self").symlink_to(f"/proc/{os.getpid()}")
    registry = CollectorRegistry()
    OwnProcess(proc=str(tmp_path), registry=registry)
    seen = {sample.name: sample.value for metric in registry.collect() for sample in metric.samples}
    assert 0 < time.time() - seen["process_start_time_seconds"] < 86400
    assert seen["process_resident_memory_bytes"] > 1_000_000


def test_labels_are_folded() -> None:
    assert [folded(each, {"a"}) for each in ("a", "b", "", None)] == ["a", "other", "", ""]


def test_each_process_has_a_port_of_its_own() -> None:
    numbers = MetricsSettings(first_port=9464)
    queues = [numbers.port(c, p) for c in CHANNELS for p in PRIORITIES]
    others = [numbers.port(name) for name in ("archiver", "beat", "exporter")]
    assert queues + others == list(range(9464, 9473))
    assert numbers.port("sms", "normal", copy=2) == 9485
    assert MetricsSettings(first_port=0).port("archiver") == 0
    assert numbers.port("sms", "normal", copy=5000) == 0


def test_the_fingerprint_follows_what_must_be_the_same_everywhere() -> None:
    provider = {"name": "hooks", "type": "webhook"}
    one = {"channels": {"webhook": {"providers": [provider]}}}
    other = {"channels": {"webhook": {"providers": [provider], "queues": {"urgent": {}}}}}
    wider = {"channels": {"webhook": {"providers": [{**provider, "name": "other"}]}}}
    local = one | {"archive": {"url": "sqlite:///elsewhere.sqlite3"}}
    prints = [fingerprint(Settings.model_validate(each)) for each in (one, other, wider, local)]
    assert prints[0] == prints[1] == prints[3] != prints[2]


class Redis:
    """A ledger that says what it is told to."""

    def __init__(self, health: Health) -> None:
        self.health_now: Health | None = health

    def health(self) -> Health:
        if self.health_now is None:
            raise LedgerUnavailable("Redis: gone")
        return self.health_now

    def progress(self, queues: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(queues, int(NOW.timestamp()) - 90)

    def now(self) -> datetime:
        return NOW


def health(**values: Any) -> Health:
    usual = {"intact_since": NOW, "at_risk": 0, "used_bytes": 70, "limit_bytes": 100}
    return Health(**{**usual, **values})


class Broker:
    """A management API with one queue that has messages."""

    def __init__(self) -> None:
        self.away = False

    def queues(self) -> dict[str, Any]:
        if self.away:
            raise ManagementUnavailable("gone")
        full = {"ready": 3, "unacknowledged": 2, "held_back": 1, "consumers": 0}
        return {"notify.sms.urgent": SimpleNamespace(**full)}

    def node_alarms(self) -> dict[tuple[str, str], bool]:
        return {("rabbit@a", "disk"): True}


Look = Callable[[], dict[Sample, float]]
URGENT = {
    "queue": "notify.sms.urgent",
    "role": "work",
    "channel": "sms",
    "priority": "urgent",
}


@pytest.fixture
def sampled() -> tuple[Look, Redis, Broker]:
    metrics, redis, broker = ExporterMetrics(), Redis(health(evicted=7)), Broker()
    provider = {"name": "texts", "type": "http-sms", "url": "http://localhost/sms"}
    settings = Settings.model_validate({"channels": {"sms": {"providers": [provider]}}})
    sampler = Sampler(settings, cast("Any", broker), cast("Any", redis), metrics)

    def look() -> dict[Sample, float]:
        sampler.look()
        return shown(metrics)

    return look, redis, broker


def test_queues_and_servers_are_shown(sampled: tuple[Look, Redis, Broker]) -> None:
    look, _, _ = sampled
    seen = look()
    states = {"ready": 3, "unacknowledged": 2, "held_back": 1}
    for state, count in states.items():
        assert value(seen, "notify_queue_messages", **URGENT, state=state) == count
    assert value(seen, "notify_queue_oldest_age_seconds", **URGENT) == 90
    assert value(seen, "notify_queue_missing", **URGENT) == 0
    dead = {"queue": "notify.dead", "role": "dead", "channel": "", "priority": ""}
    assert value(seen, "notify_queue_missing", **dead) == 1
    assert value(seen, "notify_broker_alarm", node="rabbit@a", kind="disk") == 1
    # What was evicted before this process began is nobody's news.
    assert value(seen, "notify_redis_evicted_keys_total") == 0


def test_old_numbers_do_not_pass_for_new_ones(sampled: tuple[Look, Redis, Broker]) -> None:
    look, redis, broker = sampled
    look()
    broker.away = True
    seen = look()
    assert value(seen, "notify_broker_up") == 0
    assert not [name for name, _ in seen if name.startswith("notify_queue_")]
    broker.away, redis.health_now = False, None
    seen = look()
    assert value(seen, "notify_redis_up") == 0
    assert value(seen, "notify_queue_messages", **URGENT, state="ready") == 3
    assert value(seen, "notify_queue_oldest_age_seconds", **URGENT) is None


def test_losses_and_evictions_are_counted(sampled: tuple[Look, Redis, Broker]) -> None:
    look, redis, _ = sampled
    look()
    redis.health_now = health(evicted=9, intact_since=None)
    assert value(look(), "notify_ledger_losses_total") == 1
    redis.health_now = health(evicted=9, intact_since=NOW + timedelta(minutes=1))
    seen = look()
    assert value(seen, "notify_ledger_losses_total") == 1
    assert value(seen, "notify_redis_evicted_keys_total") == 2
    # Started anew, Redis counts from nothing.
    redis.health_now = health(evicted=0, intact_since=NOW + timedelta(minutes=1))
    assert value(look(), "notify_redis_evicted_keys_total") == 2
    redis.health_now = health(evicted=0, intact_since=NOW + timedelta(minutes=2))
    assert value(look(), "notify_ledger_losses_total") == 2


def test_a_worker_shows_zeros_before_anything_happens() -> None:
    metrics = Metrics()
    metrics.begin("sms", "urgent", ["texts"])
    labels = {"channel": "sms", "priority": "urgent", "provider": "texts"}
    lost = {"outcome": "unknown", "reason": "connection_lost"}
    assert value(shown(metrics), "notify_attempts_total", **labels, **lost) == 0
