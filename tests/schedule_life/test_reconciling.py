"""Redis that was emptied, brought back from a copy, or lost a few, gets what it should have."""

from datetime import timedelta

import pytest

from notify.schedule.reconciling import COUNTS, EMPTIED, OLDER
from notify.schedule.rowing import to_row
from notify.schedule.stored import ASLEEP
from notify.store.occurrences import MISSED
from notify.store.schedulerows import StoredSchedule
from tests.schedule_life.rig import HOUR, NOW, Rig, spec

pytestmark = pytest.mark.redis
both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def test_nothing_is_said_where_all_is_well(rig: Rig) -> None:
    assert rig.look(beginning=True) == {}
    rig.add(spec("a"), spec("b"))
    assert rig.look() == {}
    assert rig.report(beginning=True).why == ""


@both
def test_redis_that_was_emptied_is_filled_again(rig: Rig) -> None:
    rig.add(spec("a"), spec("b", body="other"), spec("c"))
    rig.truth.pause("b", "ann")
    rig.look()
    rig.flush()
    report = rig.report()
    assert (report.why, report.findings.counts) == (EMPTIED, {"missing": 3})
    assert rig.names() == ["a", "b", "c"]
    assert rig.book.get("a").watermark == NOW
    assert (rig.book.get("b").spec, rig.book.get("b").state) == (
        spec("b", body="other").evolve(paused=True),
        ASLEEP,
    )
    assert rig.look() == {}


def test_what_is_restored_goes_on_where_the_history_ends(rig: Rig) -> None:
    """Neither is fired again what was, nor is forgotten what was due while Redis was empty."""
    rig.add(spec("fired"), spec("missed"), spec("resumed"), spec("never"))
    rig.truth.pause("resumed", "")
    rig.fired("fired", NOW + 2 * HOUR)
    rig.fired("missed", NOW + 3 * HOUR, outcome=MISSED)
    rig.clock.now += 5 * HOUR
    rig.truth.resume("resumed", "")
    rig.look()
    rig.flush()
    rig.look()
    marks = {name: rig.book.get(name).watermark for name in rig.names()}
    assert marks == {
        "fired": NOW + 2 * HOUR,
        "missed": NOW + 3 * HOUR,
        "resumed": NOW + 5 * HOUR,
        "never": NOW,
    }


@both
def test_what_is_over_is_not_restored(rig: Rig) -> None:
    rig.add(spec("once", at=(NOW + HOUR).isoformat()))
    rig.add(spec("ends", every=3600, end=(NOW + 2 * HOUR).isoformat()))
    rig.fired("once", NOW + HOUR)
    rig.fired("ends", NOW + 2 * HOUR)
    rig.clock.now += 3 * HOUR
    rig.flush()
    assert rig.look() == {"over": 1}
    assert rig.names() == []
    for name, ending in (("once", "fired"), ("ends", "over")):
        row = rig.truth.row(name)
        assert row is not None
        assert (row.ending, row.spec) == (ending, {})
    assert rig.look() == {}


def test_a_one_shot_that_nobody_fired_is_restored(rig: Rig) -> None:
    rig.add(spec("once", at=(NOW + HOUR).isoformat()))
    rig.clock.now += 2 * HOUR
    rig.flush()
    assert rig.look() == {"missing": 1}
    assert rig.book.get("once").next_at == NOW + HOUR


@both
def test_an_older_copy_of_redis_is_brought_up_to_date(rig: Rig) -> None:
    rig.add(spec("kept"), spec("edited"), spec("removed"), spec("paused"), spec("fired"))
    rig.look()
    copy = rig.copy()
    rig.truth.change("edited", lambda _: spec("edited", body="other"), "")
    rig.truth.remove("removed", "")
    rig.truth.pause("paused", "")
    rig.add(spec("new"))
    rig.fired("fired", NOW + HOUR)
    rig.clock.now += HOUR
    rig.look()
    rig.bring_back(copy)
    report = rig.report()
    assert report.why == OLDER
    assert report.findings.counts == {
        "missing": 1,
        "stale": 1,
        "state": 1,
        "behind": 1,
        "removed": 1,
    }
    assert rig.names() == ["edited", "fired", "kept", "new", "paused"]
    assert rig.book.get("edited").revision == spec("edited", body="other").revision
    assert rig.book.get("paused").state == ASLEEP
    assert rig.book.get("fired").watermark == NOW + HOUR
    assert rig.look() == {}


def test_a_beat_that_begins_looks_at_what_fired_lately(rig: Rig) -> None:
    """Redis lost its last moments together with the beat that led."""
    rig.add(spec("a"), spec("b"))
    rig.look()
    rig.fired("a", NOW + HOUR)
    rig.clock.now += timedelta(minutes=1)
    rig.reconciler._swept = "z"
    assert rig.look(beginning=True) == {"behind": 1}
    assert rig.book.get("a").watermark == NOW + HOUR


def test_the_last_firing_of_one_that_ends(rig: Rig) -> None:
    rig.add(spec("ends", every=3600, end=(NOW + 2 * HOUR).isoformat()))
    rig.look()
    rig.fired("ends", NOW + 2 * HOUR)
    assert rig.look(beginning=True) == {"behind": 1}
    assert rig.book.get("ends").state == "ended"
    assert rig.look(beginning=True) == {}


@pytest.mark.parametrize("what", ["hash", "due"])
def test_one_that_redis_lost_is_found(rig: Rig, what: str) -> None:
    rig.add(*[spec(f"s{number}") for number in range(5)])
    rig.look()
    key = rig.book.shelf.key("s3")
    if what == "hash":
        rig.raw.delete(key)
    else:
        rig.raw.zrem(f"{rig.book.shelf.prefix}:schedule", key)
    assert rig.look() == {"missing": 1}
    assert rig.book.get("s3").state == "active"
    assert rig.look() == {}


def test_one_that_became_illegible_is_written_again(rig: Rig) -> None:
    rig.add(spec("broken"), spec("bad"))
    rig.look()
    rig.raw.hset(rig.book.shelf.key("broken"), "definition", "{")
    rig.fired("broken", NOW + HOUR)
    for name in ("broken", "bad"):
        rig.set_aside(name)
    assert rig.look() == {"missing": 1}
    assert (rig.book.get("broken").state, rig.book.watermark("broken")) == ("active", NOW + HOUR)
    assert rig.book.get("bad").state == "quarantined"
    rig.truth.change("bad", lambda _: spec("bad", body="mended"), "ann")
    assert rig.book.get("bad").state == "active"


def test_another_number_of_schedules_has_all_compared(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify.schedule.reconciling._SWEEP", 0)
    rig.add(*[spec(f"s{number}") for number in range(5)])
    rig.look()
    rig.book.remove("s3")
    assert rig.look() == {}
    report = rig.report()
    assert (report.why, report.findings.counts) == (COUNTS, {"missing": 1})
    rig.book.put(spec("stranger"))
    assert [rig.report().why for _ in range(4)] == ["", COUNTS, "", ""]


def test_strangers_are_named_and_left_alone(rig: Rig) -> None:
    rig.add(spec("a"))
    rig.look()
    rig.book.put(spec("stranger"))
    report = rig.reconciler.restore(dry=True)
    assert report.findings.names["unknown"] == ["stranger"]
    assert rig.reconciler.restore(dry=False).findings.names["unknown"] == ["stranger"]
    assert rig.names() == ["a", "stranger"]


def test_what_was_there_before_the_database_is_adopted(rig: Rig) -> None:
    rig.book.put(spec("old"))
    assert rig.look() == {"unknown": 1}
    row = rig.truth.row("old")
    assert row is not None
    assert row.revision == spec("old").revision
    rig.flush()
    assert rig.look() == {"missing": 1}


def test_a_dry_run_changes_nothing(rig: Rig) -> None:
    rig.add(spec("a"), spec("b"))
    rig.look()
    rig.raw.delete(rig.book.shelf.key("a"))
    rig.book.put(spec("b", body="other"), replace=True)
    before = rig.copy()
    report = rig.reconciler.restore(dry=True)
    assert report.findings.counts == {"missing": 1, "stale": 1}
    assert rig.copy() == before
    assert rig.reconciler.restore(dry=False).findings.counts == {"missing": 1, "stale": 1}
    assert rig.reconciler.restore(dry=True).findings.counts == {}


def test_one_that_cannot_be_read_stops_no_other(rig: Rig) -> None:
    rig.add(spec("a"), spec("b"))
    schedules = rig.truth.schedules
    assert schedules is not None
    row = schedules.get("a")
    assert row is not None
    broken = {name: getattr(row, name) for name in row.__slots__} | {"spec": {"v": 99}}
    schedules.put([StoredSchedule(**broken)])
    rig.flush()
    report = rig.report()
    assert report.findings.problems == {
        "a": "a: v: must be 1: another version of Notify wrote this"
    }
    assert report.findings.names["missing"] == ["b"]
    assert rig.names() == ["b"]


def test_a_database_brought_back_from_a_copy(rig: Rig) -> None:
    """It knows fewer changes than Redis has seen: all is compared, and it is right."""
    rig.add(spec("a"))
    rig.look()
    mark = rig.reconciler._marker.read()
    assert mark is not None
    rig.raw.hset(rig.reconciler._marker.key, "change", mark.change + 7)
    assert rig.report().why == OLDER
    assert rig.report().why == ""


@both
def test_many_in_pages(rig: Rig) -> None:
    names = [f"s{number:04}" for number in range(1203)]
    schedules = rig.truth.schedules
    assert schedules is not None
    schedules.put([to_row(spec(name), "ann", NOW) for name in names])
    ticks: list[int] = []
    rig.reconciler = rig.another()
    rig.reconciler._alive = lambda: ticks.append(1)
    assert rig.look() == {"missing": 1203}
    assert rig.names() == names[:1000]
    assert rig.book.count().stored == 1203
    assert len(ticks) >= 3
    assert rig.look() == {}


def test_old_history_is_purged_now_and_then(rig: Rig) -> None:
    rig.add(spec("a"))
    for number in (1, 2, 3):
        rig.fired("a", NOW + number * HOUR)
    rig.clock.now += timedelta(days=31)
    rig.look()
    assert [each.planned for each in rig.truth.history.of("a")] == [NOW + 3 * HOUR]
