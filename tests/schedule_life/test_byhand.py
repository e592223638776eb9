"""Firing by hand: with and without a beat, each planned instant is delivered once."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify.errors import InvalidInput, NotFound, StoreUnavailable, UsageError
from notify.notification import Notification
from notify.schedule.byhand import ByHand, Refused
from notify.schedule.spec import ScheduleSpec
from notify.schedule.truth import Truth
from tests.cli.conftest import Ran
from tests.cli.conftest import _runner as runner
from tests.deployment import Deployment
from tests.schedule_life.rig import PHONE, Rig, spec
from tests.waiting import eventually

pytestmark = pytest.mark.redis

HOUR = timedelta(hours=1)


class Publisher:
    """Takes everything, unless it is told to fail."""

    def __init__(self) -> None:
        self.sent: list[Notification] = []
        self.error: Exception | None = None

    def send(self, notification: Notification) -> str:
        if self.error is not None:
            raise self.error
        self.sent.append(notification)
        return notification.id


@pytest.fixture
def publisher() -> Publisher:
    return Publisher()


@pytest.fixture
def byhand(rig: Rig, publisher: Publisher) -> ByHand:
    """The schedule "a" is due each hour, and has been there for five."""
    now = datetime.now(UTC)
    rig.clock.now = now - 5 * HOUR
    rig.add(spec("a"))
    return ByHand(rig.settings, rig.truth, publisher)  # type: ignore[arg-type]


def last_hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def outcomes(rig: Rig) -> list[tuple[str, int]]:
    return [(each.outcome, each.count) for each in rig.truth.history.of("a")]


def test_a_planned_instant_is_fired_once(rig: Rig, byhand: ByHand, publisher: Publisher) -> None:
    planned = last_hour() - 2 * HOUR
    first, again = (byhand.planned("a", planned) for _ in range(2))
    assert (first.before, again.before) == (False, True)
    assert first.ref == again.ref == f"schedule:a:{planned:%Y%m%dT%H%M%SZ}"
    assert [each.id for each in publisher.sent] == [first.ref]
    assert publisher.sent[0].labels["planned"] == planned.isoformat()
    assert rig.book.watermark("a") == planned
    assert outcomes(rig) == [("fired", 1), ("skipped", 2)]


def test_what_a_beat_has_just_fired(rig: Rig, byhand: ByHand, publisher: Publisher) -> None:
    planned = last_hour()
    rig.book.fired("a", planned)
    fired = byhand.planned("a", planned)
    assert (fired.before, fired.ref) == (True, f"schedule:a:{planned:%Y%m%dT%H%M%SZ}")
    assert publisher.sent == []


def test_what_was_not_confirmed_is_fired_again(
    rig: Rig, byhand: ByHand, publisher: Publisher
) -> None:
    planned, before = last_hour(), rig.book.watermark("a")
    publisher.error = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        byhand.planned("a", planned)
    assert (rig.book.watermark("a"), outcomes(rig)) == (before, [])
    publisher.error = None
    assert not byhand.planned("a", planned).before


def test_what_is_over_is_refused(rig: Rig, byhand: ByHand, publisher: Publisher) -> None:
    planned = last_hour()
    byhand.planned("a", planned)
    with pytest.raises(Refused, match="is over: everything planned up to"):
        byhand.planned("a", planned - HOUR)
    assert len(publisher.sent) == 1


@pytest.mark.parametrize(
    ("ahead", "kind", "why"),
    [
        (timedelta(minutes=1), UsageError, "a plans nothing then; it plans .*00:00Z and .*00:00Z"),
        (timedelta(microseconds=1), UsageError, "a plans nothing then"),
        (2 * HOUR, Refused, "that instant is yet to come; --early fires it now"),
    ],
)
def test_only_what_is_planned_and_due(
    byhand: ByHand, publisher: Publisher, ahead: timedelta, kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=why):
        byhand.planned("a", last_hour() + ahead)
    assert publisher.sent == []


def test_early(rig: Rig, byhand: ByHand) -> None:
    planned = last_hour() + 2 * HOUR
    byhand.planned("a", planned, early=True)
    assert rig.book.get("a").next_at == planned + HOUR


def test_what_rests_or_is_set_aside(rig: Rig, byhand: ByHand, publisher: Publisher) -> None:
    rig.truth.pause("a", "")
    with pytest.raises(Refused, match="a: is paused"):
        byhand.planned("a", last_hour())
    with pytest.raises(NotFound, match="there is no schedule 'b'"):
        byhand.planned("b", last_hour())
    rig.raw.hset(rig.book.shelf.key("a"), "definition", "{")
    with pytest.raises(Refused, match="a: is in quarantine"):
        byhand.once_more("a")
    assert publisher.sent == []


def test_once_more_is_another_each_time(rig: Rig, byhand: ByHand, publisher: Publisher) -> None:
    before = rig.book.watermark("a")
    ids = {byhand.once_more("a").ref for _ in range(3)}
    assert len(ids) == len(publisher.sent) == 3
    assert all("_" in id for id in ids)
    assert rig.book.watermark("a") == before
    assert outcomes(rig) == [("extra", 1)] * 3


def test_a_one_shot_is_over_by_it(rig: Rig, byhand: ByHand, publisher: Publisher) -> None:
    at = last_hour() + 2 * HOUR
    rig.clock.now = datetime.now(UTC)
    rig.add(spec("Order:7", at=at.isoformat(), origin="once"))
    with pytest.raises(UsageError, match="is sent once only"):
        byhand.once_more("Order:7")
    assert byhand.planned("Order:7", at, early=True).ref == "Order:7"
    assert byhand.planned("Order:7", at).before
    assert [each.id for each in publisher.sent] == ["Order:7"]
    assert rig.names() == ["a"]
    row = rig.truth.row("Order:7")
    assert row is not None
    assert row.ending == "fired"


def test_history_that_cannot_be_written_stops_nothing(
    rig: Rig, byhand: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> Any:
        raise StoreUnavailable("the archive cannot be used")

    with monkeypatch.context() as patch:
        patch.setattr(rig.truth.history, "record", away)
        patch.setattr(rig.truth.history, "of", away)
        byhand.planned("a", last_hour())
    assert rig.book.watermark("a") == last_hour()


class Fanout:
    def __init__(self) -> None:
        self.started: list[datetime] = []

    def check(self, spec: ScheduleSpec) -> None: ...

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        self.started.append(planned)
        return f"{spec.name}-batch"


def test_an_audience_is_handed_to_whoever_sends_to_it(rig: Rig, publisher: Publisher) -> None:
    fanout = Fanout()
    rig.clock.now = datetime.now(UTC) - 5 * HOUR
    many = spec("many", recipient=None, file="people.csv")
    with pytest.raises(InvalidInput, match="cannot be fired here"):
        rig.add(many)
    with Truth(rig.settings, fanout=fanout, clock=rig.clock) as truth:
        truth.add(many, "")
        byhand = ByHand(rig.settings, truth, publisher, fanout=fanout)  # type: ignore[arg-type]
        assert byhand.planned("many", last_hour()).ref == "many-batch"
    assert fanout.started == [last_hour()]
    rig.flush()
    assert rig.look() == {"missing": 1}


@pytest.fixture
def cli(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Ran]]:
    for name, value in deployment.environ.items():
        monkeypatch.setenv(name, value)
    yield runner(capsys)


@pytest.mark.broker
def test_beside_a_beat_each_is_delivered_once(
    deployment: Deployment, cli: Callable[..., Ran]
) -> None:
    deployment.worker()
    beat = deployment.start("beat")
    deployment.until_logged(beat, '"event":"ready"')
    cli("schedule", "add", "tick", "sms", PHONE, "--body", "x", "--every", "1s")
    codes = Counter(cli("schedule", "fire", "tick", "--planned", "last").code for _ in range(12))
    # 1: the beat was a planned instant ahead.
    assert codes.keys() <= {0, 1}
    extra = json.loads(cli("schedule", "fire", "tick", "--yes", "--json").out)
    assert extra["extra"]
    deployment.until_sent(extra["id"])
    deployment.sandbox.wait_for(8, 30)
    assert beat.stop() == 0
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    assert deployment.processes[0].stop() == 0
    counts = Counter(item.id for item in deployment.sandbox.received())
    assert set(counts.values()) == {1}
    history = json.loads(cli("schedule", "history", "tick", "--limit", "1000", "--json").out)[
        "history"
    ]
    refs = {each["ref"] for each in history if each["outcome"] in ("fired", "extra")}
    assert counts.keys() <= refs


@pytest.mark.broker
def test_a_notification_at_an_instant_is_delivered_then_and_cleaned_up(
    deployment: Deployment, cli: Callable[..., Ran]
) -> None:
    deployment.worker()
    beat = deployment.start("beat")
    deployment.until_logged(beat, '"event":"ready"')
    at = datetime.now(UTC) + timedelta(seconds=2)
    said = cli("send", "sms", PHONE, "--body", "now", "--at", at.isoformat(), "--id", "Order:7")
    later = cli("send", "sms", PHONE, "--body", "later", "--at", (at + HOUR).isoformat())
    assert (said.code, said.out) == (0, "Order:7\n")
    deployment.until_sent("Order:7")
    assert deployment.sandbox.received()[0].at >= at.timestamp() - 0.1

    def names() -> list[str]:
        listed = json.loads(cli("schedule", "list", "--once", "--json").out)["schedules"]
        return [row["name"] for row in listed]

    eventually(lambda: names() == [later.out.strip()], "the list without it")
    assert cli("send", "--cancel", "Order:7").err == "notify: Order:7: is over: fired\n"
    again = cli("schedule", "fire", "Order:7", "--planned", at.isoformat())
    assert "was fired" in again.out


@pytest.mark.broker
def test_a_beat_fires_on_when_redis_lost_its_schedules(
    deployment: Deployment, cli: Callable[..., Ran]
) -> None:
    deployment.worker()
    cli("schedule", "add", "tick", "sms", PHONE, "--body", "x", "--every", "1s")
    first = deployment.start("beat")
    deployment.sandbox.wait_for(2, 30)
    assert first.stop() == 0
    prefix = deployment.settings.redis.prefix
    with Truth(deployment.settings) as truth:
        redis = truth.book.shelf.redis
        redis.delete(*redis.scan_iter(f"{prefix}:beat:*"))
    before = len(deployment.sandbox.received())
    second = deployment.start("beat")
    deployment.until_logged(second, "schedules put right")
    deployment.sandbox.wait_for(before + 2, 30)
    assert second.stop() == 0
    counts = Counter(item.id for item in deployment.sandbox.received())
    assert set(counts.values()) == {1}


@pytest.mark.broker
def test_a_beat_fires_on_while_the_database_is_away(
    deployment: Deployment, cli: Callable[..., Ran]
) -> None:
    cli("schedule", "add", "tick", "sms", PHONE, "--body", "x", "--every", "1s")
    deployment.environ["NOTIFY_ARCHIVE_URL"] = "postgresql://nobody@127.0.0.1:1/none"
    beat = deployment.start("beat")
    deployment.worker()
    deployment.sandbox.wait_for(2, 30)
    deployment.until_logged(beat, "history not kept for now")
    assert "schedules not compared with the database" in beat.text()
    assert beat.stop() == 0
    assert set(Counter(item.id for item in deployment.sandbox.received()).values()) == {1}


@pytest.mark.broker
def test_an_audience_is_sent_to_without_a_beat(
    deployment: Deployment, cli: Callable[..., Ran]
) -> None:
    deployment.worker()
    people = deployment.directory / "people.csv"
    rows = "".join(f"+4917012345{number:02}\n" for number in range(20))
    people.write_text(f"recipient\n{rows}")
    added = cli(
        *("schedule", "add", "many", "sms", "--file", str(people), "--body", "x"),
        *("--every", "1s", "--start", "2026-01-01T00:00:00Z"),
    )
    assert (added.code, added.err) == (0, "")

    def due() -> Ran | None:
        ran = cli("schedule", "fire", "many", "--planned", "last", "--json")
        return ran if ran.code == 0 else None

    first = json.loads(eventually(due, "the first planned instant").out)
    assert (first["batch"]["state"], first["batch"]["published"]) == ("finished", 20)
    again = cli("schedule", "fire", "many", "--planned", first["planned"])
    assert "was fired" in again.out
    deployment.sandbox.wait_for(20, 30)
    assert max(Counter(item.id for item in deployment.sandbox.received()).values()) == 1
