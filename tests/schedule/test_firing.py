"""What is due is published, confirmed, and only then over: once, whatever comes in between."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.config import Settings
from notify.errors import (
    BrokerUnavailable,
    InvalidInput,
    LedgerUnavailable,
    NotFound,
    QueueFull,
    StoreUnavailable,
    Unconfirmed,
)
from notify.notification import Notification
from notify.schedule import QUARANTINED
from notify.schedule import happened as happened_module
from notify.schedule import settling as settling_module
from notify.schedule import shelf as shelf_module
from notify.schedule.entries import beat_app
from notify.schedule.firing import Firing
from notify.schedule.scheduler import Scheduler
from notify.schedule.shelf import Shelf
from notify.schedule.spec import ScheduleSpec
from tests.schedule.rig import NOON, PHONE, Rig, Wire, at
from tests.waiting import eventually

pytestmark = pytest.mark.redis

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def ids(name: str, *instants: datetime) -> list[str]:
    return [f"schedule:{name}:{at(instant)}" for instant in instants]


def test_it_is_fired_at_its_instant_and_once(rig: Rig) -> None:
    rig.put("hourly", every="1h", body="It is time")
    assert rig.look(3599.9) == []
    assert rig.look(0.1) == ids("hourly", NOON + HOUR)
    assert rig.look() == rig.look(1) == []
    sent = rig.wire.taken[0]
    assert (sent.body, sent.recipient) == ("It is time", PHONE)
    assert sent.labels["planned"] == (NOON + HOUR).isoformat()
    found = rig.book.get("hourly")
    assert (found.runs, found.last_at, found.watermark) == (1, NOON + HOUR, NOON + HOUR)
    assert found.next_at == NOON + 2 * HOUR
    assert rig.outcomes(1) == [("hourly", "fired", 1)]


def test_a_late_beat_does_not_make_the_schedule_drift(rig: Rig) -> None:
    """Nor does a restart: the next instant follows from the last one, not from now."""
    rig.put("tick", every=10)
    assert rig.look(13) == ids("tick", NOON + timedelta(seconds=10))
    rig.scheduler = rig.beat(rig.leader)
    assert rig.look(9.5) == ids("tick", NOON + timedelta(seconds=20))


def test_the_planned_and_the_actual_instant_and_the_lag_are_told(rig: Rig) -> None:
    rig.put("hourly", every="1h")
    rig.look(3600 + 75)
    labels = rig.wire.taken[0].labels
    assert labels["schedule"] == "hourly"
    assert labels["planned"] == (NOON + HOUR).isoformat()
    assert labels["actual"] == (NOON + HOUR + timedelta(seconds=75)).isoformat()
    assert labels["lag"] == "75"


def test_each_day_at_the_same_local_time_over_both_changes_of_the_clock(rig: Rig) -> None:
    """RedBeat fires an hour late in autumn: it adds a difference of wall clocks to an instant."""
    for day in (datetime(2027, 10, 30, tzinfo=UTC), datetime(2027, 3, 27, tzinfo=UTC)):
        rig.now = day
        name = f"daily-{day:%m}"
        rig.put(name, cron="0 8 * * *", zone="Europe/Zurich")
        hours = []
        for _ in range(3):
            following = rig.book.get(name).next_at
            assert following
            hours.append(following.hour)
            rig.now = following
            assert rig.look() == ids(name, following)
        assert hours == ([6, 7, 7] if day.month == 10 else [7, 6, 6])
        rig.book.remove(name)


def test_a_broker_that_is_away_when_it_is_due(rig: Rig) -> None:
    rig.put("daily", cron="0 13 * * *")
    rig.wire.answer = lambda _: BrokerUnavailable("RabbitMQ: refused")
    assert rig.look(3600) == rig.look(30) == []
    found = rig.book.get("daily")
    assert (found.watermark, found.next_at) == (NOON, NOON + HOUR)
    assert rig.statuses[-1] == "leading, waiting: RabbitMQ: refused"
    rig.wire.answer = lambda _: None
    assert rig.look(30) == ids("daily", NOON + HOUR)
    assert rig.look() == []
    assert rig.statuses[-1].startswith("leading, 1 schedules, next in ")


def test_with_the_broker_away_nothing_else_is_tried(rig: Rig) -> None:
    for number in range(50):
        rig.put(f"s{number}", every="1h")
    tried: list[str] = []

    def away(each: Notification) -> BrokerUnavailable:
        tried.append(each.id)
        return BrokerUnavailable()

    rig.wire.answer = away
    assert rig.look(3600) == []
    assert len(tried) == 1


@pytest.mark.parametrize("error", [Unconfirmed(), BrokerUnavailable()], ids=["unconfirmed", "away"])
def test_what_was_confirmed_goes_on_and_the_rest_is_fired_again(rig: Rig, error: Any) -> None:
    for number in range(4):
        rig.put(f"s{number}", every="1h")
    lost: list[str] = []

    def half(each: Notification) -> Any:
        if len(rig.wire.taken) < 2:
            return None
        lost.append(each.id)
        return error

    rig.wire.answer = half
    first = rig.look(3600)
    assert len(first) == 2
    rig.wire.answer = lambda _: None
    second = rig.look(1)
    assert lost[0] in second
    assert sorted(first + second) == sorted(ids(f"s{n}", NOON + HOUR)[0] for n in range(4))


def test_a_queue_that_is_full_holds_up_its_own_schedules_only(rig: Rig) -> None:
    rig.put("text", every="1h")
    rig.put("mail", every="1h", channel="email", recipient="ada@example.com", subject="Hello")
    rig.wire.answer = lambda each: QueueFull() if each.channel == "sms" else None
    assert rig.look(3600) == ids("mail", NOON + HOUR)
    assert rig.book.get("text").trouble == str(QueueFull())
    assert rig.look(1) == []
    rig.wire.answer = lambda _: None
    assert rig.look(5) == ids("text", NOON + HOUR)
    assert rig.book.get("text").trouble == ""


@pytest.mark.parametrize(
    ("misfire", "fired", "passed"),
    [
        ("run-latest", [5], [("skipped", 4)]),
        ({"policy": "run-all", "cap": 3}, [2, 3, 4, 5], [("skipped", 1)]),
        ({"policy": "run-all", "grace": "150s"}, [3, 4, 5], [("missed", 2)]),
        ("skip", [5], [("missed", 4)]),
    ],
    ids=["latest", "all", "grace", "skip"],
)
def test_after_downtime_the_policy_says_what_is_made_up_for(
    rig: Rig, misfire: Any, fired: list[int], passed: list[tuple[str, int]]
) -> None:
    rig.put("minutely", every=60, misfire=misfire)
    wanted = ids("minutely", *(NOON + n * MINUTE for n in fired))
    assert rig.look(5 * 60 + 10) == wanted
    facts = rig.outcomes(len(fired) + len(passed))
    assert facts == [("minutely", *each) for each in passed] + [("minutely", "fired", 1)] * len(
        fired
    )
    assert rig.look() == []
    assert rig.book.get("minutely").next_at == NOON + 6 * MINUTE


def test_what_is_too_late_is_missed_and_that_is_counted(rig: Rig) -> None:
    rig.put("daily", cron="0 13 * * *", misfire={"policy": "run-latest", "grace": "10m"})
    assert rig.look(6 * 3600) == []
    assert rig.outcomes(1) == [("daily", "missed", 1)]
    assert rig.book.get("daily").next_at == NOON + HOUR + timedelta(days=1)
    rig.put("soon", every="1h", expires_after="20m")
    assert rig.look(3600 + 1260) == []
    assert rig.outcomes(2)[-1] == ("soon", "missed", 1)


def test_what_rests_costs_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        rig.put(f"resting{number}", every="1h", paused=True)
    # A term begins by taking over what RedBeat has stored, which is all read once.
    assert rig.look() == []
    read: list[str] = []
    monkeypatch.setattr(Shelf, "read_some", lambda _, names: read.extend(names))
    assert rig.look(10 * 3600) == read == []


def test_options_of_the_broker_are_none_of_redis(rig: Rig) -> None:
    """RedBeat once borrowed them, and ended at its start."""
    app = beat_app(rig.settings)
    app.conf.broker_transport_options = {"visibility_timeout": 3600, "sentinels": []}
    rig.scheduler = Scheduler(app, desk=rig.scheduler._desk, max_interval=1.0)
    rig.put("hourly", every="1h")
    assert rig.look(3600) == ids("hourly", NOON + HOUR)


def test_a_one_shot_is_gone_when_it_has_fired(rig: Rig) -> None:
    rig.put("warm-up", at=NOON + timedelta(seconds=1))
    rig.look(1)
    before = rig.keys()
    for number in range(100):
        rig.put(f"once{number}", at=rig.now + HOUR)
    assert len(rig.look(3600)) == 100
    assert rig.keys() == before
    assert rig.book.count().stored == 0
    assert rig.raw.zcard(f"{rig.book.shelf.prefix}:names") == 0


def test_jitter_spreads_what_would_fire_together_and_always_the_same(rig: Rig) -> None:
    for number in range(20):
        rig.put(f"s{number}", every="1h", jitter="10m")
    due = {name: rig.book.get(name).due_at for name in (f"s{n}" for n in range(20))}
    assert len(set(due.values())) == 20
    assert rig.look(3599) == []
    first = []
    for _ in range(60):
        first += rig.look(10)
    assert sorted(first) == sorted(ids(f"s{n}", NOON + HOUR)[0] for n in range(20))


def test_one_that_is_removed_while_it_is_fired_stays_removed(rig: Rig) -> None:
    rig.put("gone", every="1h")
    rig.put("kept", every="1h")

    def remove(_: Notification) -> None:
        rig.wire.before = lambda _: None
        rig.book.remove("gone")

    rig.wire.before = remove
    assert len(rig.look(3600)) == 2
    assert rig.book.count().stored == 1
    assert rig.raw.keys(rig.key("gone")) == []
    rig.put("gone", every="2h")
    assert rig.book.get("gone").next_at == NOON + 2 * HOUR


def test_one_that_is_changed_while_it_is_fired_owes_it_no_more(rig: Rig) -> None:
    rig.put("hourly", every="1h")

    def change(_: Notification) -> None:
        rig.wire.before = lambda _: None
        rig.put("hourly", replace=True, cron="30 * * * *")

    rig.wire.before = change
    assert rig.look(3600) == ids("hourly", NOON + HOUR)
    assert rig.look() == []
    assert rig.book.get("hourly").next_at == NOON + HOUR + HOUR / 2


def test_one_with_another_text_while_it_is_fired_does_not_fire_it_again(rig: Rig) -> None:
    """It would have the same id and another content: a conflict that somebody has to look at."""
    rig.put("hourly", every="1h")
    rig.put("once", at=NOON + HOUR)

    def change(_: Notification) -> None:
        rig.wire.before = lambda _: None
        changed: dict[str, Any] = {"hourly": {"every": "1h"}, "once": {"at": NOON + HOUR}}
        for name, when in changed.items():
            rig.put(name, replace=True, body="Another text", **when)

    rig.wire.before = change
    assert len(rig.look(3600)) == 2
    assert rig.look(1) == []
    assert rig.book.count().stored == 1
    assert rig.look(3599) == ids("hourly", NOON + 2 * HOUR)
    assert rig.wire.taken[-1].body == "Another text"
    assert rig.outcomes(3).count(("hourly", "fired", 1)) == 2


def test_a_clock_that_was_set_back_fires_nothing_twice(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.put("minutely", every=60)
    assert rig.look(60) == ids("minutely", NOON + MINUTE)
    rig.now -= HOUR
    for _ in range(60):
        assert rig.look(60) == []
    assert rig.look(60) == ids("minutely", NOON + 2 * MINUTE)
    assert "clock was set" in caplog.text
    assert "clock differs from that of Redis" in caplog.text


def test_a_beat_that_has_lost_the_lock_publishes_no_more(rig: Rig) -> None:
    """Another one took it in the middle of a chunk: the next thing is not published."""
    for number in range(10):
        rig.put(f"s{number}", every="1h", misfire={"policy": "run-latest"})
    other = rig.candidate()

    def taken_over(_: Notification) -> None:
        if len(rig.wire.taken) == 3:
            rig.raw.delete(rig.book.shelf.lock)
            other.attempt()
            rig.leader.attempt()

    rig.wire.before = taken_over
    first = rig.look(3600)
    assert len(first) == 4
    rig.wire.before = lambda _: None
    assert rig.look() == []
    assert rig.statuses[-1].startswith("standing by; beat on host ")
    rig.scheduler = rig.beat(other)
    second = rig.look()
    assert len(second) == 10
    assert set(first) <= set(second)
    assert rig.outcomes(10) == [(f"s{n}", "fired", 1) for n in range(10)]


def test_what_was_fired_without_the_lock_is_noted_by_whoever_has_it(rig: Rig) -> None:
    """Redis gave the lock to another while the confirms were under way."""
    rig.put("hourly", every="1h")
    rig.wire.before = lambda _: rig.raw.set(rig.book.shelf.lock, "other:1:x")
    first = rig.look(3600)
    assert rig.book.get("hourly").watermark == NOON
    rig.wire.before = lambda _: None
    rig.raw.delete(rig.book.shelf.lock)
    rig.leader.attempt()
    assert rig.look() == first == ids("hourly", NOON + HOUR)
    assert rig.outcomes(1) == [("hourly", "fired", 1)]


def test_redis_that_does_not_answer_is_waited_for(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.put("hourly", every="1h")

    def away(*_: object, **__: object) -> None:
        raise LedgerUnavailable("Redis: TimeoutError")

    with monkeypatch.context() as patch:
        patch.setattr(rig.book.shelf, "advance", away)
        assert rig.look(3600) == ids("hourly", NOON + HOUR)
        assert rig.statuses[-1] == "leading, waiting: Redis: TimeoutError"
    assert rig.look(1) == ids("hourly", NOON + HOUR)
    assert rig.look(1) == []


def test_many_runs_are_made_up_for_in_portions(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("notify.schedule.scheduler._MOST_FIRINGS", 25)
    for number in range(5):
        rig.put(f"s{number}", every=60, misfire={"policy": "run-all", "cap": 20})
    fired = rig.look(20 * 60)
    assert len(fired) == len(set(fired)) == 100


def test_entries_that_are_too_large_for_one_answer_come_one_after_the_other(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf_module, "_MOST_BYTES", 1000)
    for number in range(10):
        rig.put(f"s{number}", every="1h", body="x" * 500)
    assert sorted(rig.look(3600)) == sorted(ids(f"s{n}", NOON + HOUR)[0] for n in range(10))


def test_a_template_that_tells_the_actual_instant_says_the_same_when_it_is_tried_again(
    rig: Rig,
) -> None:
    template(rig, "late", "Due {{ occurrence_planned }}, sent {{ occurrence_actual }}")
    rig.put("hourly", every="1h", body=None, template="late")
    rig.wire.answer = lambda _: Unconfirmed()
    bodies: list[str | None] = []
    rig.wire.before = lambda each: bodies.append(each.body)
    rig.look(3600)
    rig.wire.answer = lambda _: None
    assert rig.book.get("hourly").trouble == ""
    assert rig.look(40) == ids("hourly", NOON + HOUR)
    assert len(bodies) == 2
    assert len(set(bodies)) == 1
    rig.look(3600)
    assert len(set(bodies)) == 2


def test_a_template_that_is_not_there_yet_is_waited_for(rig: Rig) -> None:
    rig.put("hourly", every="1h", body=None, template="late")
    rig.put("other", every="1h")
    assert rig.look(3600) == ids("other", NOON + HOUR)
    assert "there is no such template" in rig.book.get("hourly").trouble
    template(rig, "late", "Due {{ occurrence_planned }}")
    assert rig.look(5) == ids("hourly", NOON + HOUR)


def test_a_template_that_never_comes_is_a_failure_in_the_end(rig: Rig) -> None:
    rig.put("hourly", every="1h", body=None, template="late", misfire={"grace": "60s"})
    for _ in range(15):
        assert rig.look(0 if rig.now > NOON else 3600) == []
        rig.now += timedelta(seconds=5)
    ((name, outcome, count),) = rig.outcomes(1)
    assert (name, outcome, count) == ("hourly", "failed", 1)
    assert "there is no such template" in rig.kept.happened[0].note
    assert rig.book.get("hourly").next_at == NOON + 2 * HOUR


def template(rig: Rig, name: str, text: str) -> None:
    folder = Path(rig.settings.templates) / name
    folder.mkdir(parents=True)
    (folder / "sms.txt").write_text(text)
    lines = ['description = "For a test."']
    for each in ("occurrence_planned", "occurrence_actual"):
        if each in text:
            lines += [f"[variables.{each}]", 'type = "datetime"', "sample = 2027-03-01T09:00:00Z"]
    (folder / "template.toml").write_text("\n".join(lines) + "\n")


def broken(rig: Rig, name: str, **fields: str) -> None:
    """An entry that is due in an hour, with other values in Redis."""
    rig.put(name, every="1h")
    for field, value in fields.items():
        rig.raw.hset(rig.key(name), field, value)


def definition(rig: Rig, **changes: Any) -> str:
    values = rig.put("model", replace=True, every="10h").to_dict() | changes
    made = json.loads(rig.raw.hget(rig.key("model"), "definition"))
    made["kwargs"]["spec"] = json.dumps({k: v for k, v in values.items() if v is not None})
    return json.dumps(made)


def test_what_cannot_be_used_is_set_aside_and_stops_nobody(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    broken(rig, "text", definition="{not JSON")
    broken(rig, "number", definition="17")
    broken(rig, "empty", definition="{}")
    broken(rig, "type", definition='{"schedule": {"__type__": "crontab", "minute": "99"}}')
    broken(rig, "stranger", definition='{"schedule": {"__type__": "martian"}}')
    broken(rig, "date", definition=definition(rig, name="date", every=None, at="2027-02-30"))
    broken(rig, "cron", definition=definition(rig, name="cron", every=None, cron="0 0 31 2 *"))
    broken(rig, "version", definition=definition(rig, name="version", v=99))
    broken(rig, "renamed", definition=definition(rig, name="another"))
    broken(
        rig, "content", definition=definition(rig, name="content", every=3600, recipient="+0012")
    )
    broken(rig, "watermark", w="soon")
    broken(rig, "meta", meta="[1]")
    broken(rig, "bytes")
    key = rig.key("bytes").encode()
    rig.raw.execute_command("HSET", key, b"definition", b'{"name": "\xff\xfe"}')
    broken(rig, "missing")
    rig.raw.delete(rig.key("missing"))
    broken(rig, "set")
    rig.raw.delete(rig.key("set"))
    rig.raw.sadd(rig.key("set"), "x")
    rig.put("good", every="1h")
    rig.put("dates", every="1h", body='{"__type__": "datetime"}')
    assert sorted(rig.look(3600)) == sorted(ids("dates", NOON + HOUR) + ids("good", NOON + HOUR))
    bad = {"text", "number", "empty", "type", "stranger", "date", "cron", "version", "renamed"}
    bad |= {"content", "watermark", "meta", "bytes", "missing", "set"}
    listed = rig.book.quarantine(limit=50)
    assert {each.name for each in listed} == bad
    reasons = {each.name: each.reason for each in listed}
    assert all(reasons.values()), reasons
    assert "+0012" not in str(reasons)
    assert rig.book.count().quarantined == len(bad)
    assert rig.metrics.quarantined._value.get() == len(bad)
    assert caplog.text.count("schedule in quarantine") == len(bad)
    assert rig.look(3600) == ids("dates", NOON + 2 * HOUR) + ids("good", NOON + 2 * HOUR)
    assert caplog.text.count("schedule in quarantine") == len(bad)
    for name in bad:
        assert rig.book.get(name).state == QUARANTINED
        rig.book.remove(name)
    assert rig.book.count().quarantined == 0


def test_it_is_released_when_it_was_repaired(rig: Rig) -> None:
    broken(rig, "hourly")
    whole = rig.raw.hget(rig.key("hourly"), "definition")
    rig.raw.hset(rig.key("hourly"), "definition", whole[:-10])
    assert rig.look(3600) == []
    with pytest.raises(InvalidInput, match="hourly: is no entry"):
        rig.book.release("hourly")
    with pytest.raises(InvalidInput, match="is in quarantine"):
        rig.book.pause("hourly")
    rig.raw.hset(rig.key("hourly"), "definition", whole)
    # Within its misfire window it is made up for.
    assert rig.book.release("hourly").next_at == NOON + HOUR
    assert rig.look(600) == ids("hourly", NOON + HOUR)
    with pytest.raises(NotFound, match="in quarantine"):
        rig.book.release("hourly")


def test_a_new_content_repairs_it_too(rig: Rig) -> None:
    spec = rig.put("hourly", every="1h")
    rig.raw.hset(rig.key("hourly"), "definition", "{")
    rig.look(3600)
    rig.book.put(spec, replace=True, now=rig.now)
    assert rig.book.count().quarantined == 0
    assert rig.look(3600) == ids("hourly", NOON + 2 * HOUR)


def test_a_bug_in_one_stops_nobody(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.put("odd", every="1h")
    rig.put("good", every="1h")
    original = ScheduleSpec.expires_at

    def odd(self: ScheduleSpec, planned: datetime) -> datetime | None:
        if self.name == "odd":
            raise ZeroDivisionError("a secret")
        return original(self, planned)

    monkeypatch.setattr(ScheduleSpec, "expires_at", odd)
    assert rig.look(3600) == ids("good", NOON + HOUR)
    (aside,) = rig.book.quarantine()
    assert (aside.name, aside.reason) == ("odd", "cannot be planned: ZeroDivisionError")


def test_a_client_that_stumbles_over_one_goes_on_with_the_others(rig: Rig) -> None:
    for number in range(5):
        rig.put(f"s{number}", every="1h")

    def stumble(each: Notification) -> None:
        if each.id.startswith("schedule:s2:"):
            raise ZeroDivisionError

    rig.wire.before = stumble
    assert len(rig.look(3600)) == 4
    assert [each.name for each in rig.book.quarantine()] == ["s2"]


class Closing(Wire):
    closed = False

    def close(self) -> None:
        self.closed = True


def test_with_other_settings_another_client_of_the_same_kind_publishes(settings: Settings) -> None:
    old, new = Closing(settings), Closing(settings)
    made: list[Settings] = []

    def anew(given: Settings) -> Closing:
        made.append(given)
        return new

    firing = Firing(settings, old, anew=anew)
    changed = settings.model_copy()
    firing.renew(changed)
    firing.fire([], lambda: True)
    firing.fire([], lambda: True)
    assert (old.closed, new.closed) == (True, False)
    assert len(made) == 1
    assert made[0] is changed


def test_a_history_that_is_away_holds_up_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happened_module, "_PAUSE", 0.01)
    away = [True]
    record = rig.kept.record

    def refuse(happened: Any) -> None:
        if away[0]:
            raise StoreUnavailable
        record(happened)

    monkeypatch.setattr(rig.kept, "record", refuse)
    rig.put("hourly", every="1h")
    assert len(rig.look(3600)) == len(rig.look(3600)) == 1
    away[0] = False
    assert rig.outcomes(2) == [("hourly", "fired", 1)] * 2


def test_what_is_later_is_not_tried_all_the_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling_module, "_LATER_SECONDS", 20.0)
    tried: list[str] = []

    def full(each: Notification) -> QueueFull:
        tried.append(each.id)
        return QueueFull()

    rig.put("text", every="1h")
    rig.wire.answer = full
    rig.look(3600)
    for _ in range(19):
        rig.look(1)
    assert len(tried) == 1
    rig.look(1)
    assert len(tried) == 2


def test_the_history_tells_when_and_by_which_id(rig: Rig) -> None:
    rig.put("hourly", every="1h")
    rig.look(3600)
    eventually(lambda: rig.kept.happened, "history")
    (fact,) = rig.kept.happened
    assert (fact.schedule, fact.planned, fact.ref) == (
        "hourly",
        NOON + HOUR,
        ids("hourly", NOON + HOUR)[0],
    )
