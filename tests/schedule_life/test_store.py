"""Schedules and their history in the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify.store.occurrences import FAILED, FIRED, MISSED, Occurrence, Occurrences
from notify.store.schedulerows import StoredSchedule, Wanted
from notify.store.schedules import ONCE, Schedules

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def stored(name: str, **values: Any) -> StoredSchedule:
    given: dict[str, Any] = {
        "name": name,
        "spec": {"cron": "0 9 * * *", "recipient": "+491701234567"},
        "revision": "r1",
        "kind": "cron",
        "channel": "sms",
        "since": NOW,
        "created_at": NOW,
        "changed_at": NOW,
    }
    return StoredSchedule(**given | values)


def fired(name: str, minute: int, **values: Any) -> Occurrence:
    planned = NOW + minute * MINUTE
    given: dict[str, Any] = {"actual": planned + timedelta(seconds=2), "outcome": FIRED}
    return Occurrence(schedule=name, planned=planned, **given | values)


def test_what_was_stored_is_read(schedules: Schedules) -> None:
    given = stored("a", source="x.toml", origin="file", created_by="ann", paused=True)
    assert schedules.add(given) is None
    found = schedules.get("a")
    assert found is not None
    assert found.change == schedules.last_change() == 1
    assert found == stored(
        "a", source="x.toml", origin="file", created_by="ann", paused=True, change=1
    )


def test_a_name_is_given_once_and_again_when_it_is_free(schedules: Schedules) -> None:
    schedules.add(stored("a"))
    before = schedules.add(stored("a", revision="r2"))
    assert before is not None
    assert before.revision == "r1"
    assert schedules.remove("a", "ann")
    assert not schedules.remove("a", "ann")
    assert schedules.add(stored("a", revision="r3")) is None
    assert [each.revision for each in schedules.stream(Wanted())] == ["r3"]


def test_what_is_removed_leaves_no_content(schedules: Schedules) -> None:
    schedules.add(stored("a"))
    schedules.remove("a", "ann")
    found = schedules.get("a")
    assert found is not None
    assert (found.spec, found.lives, found.ending, found.changed_by) == (
        {},
        False,
        "removed",
        "ann",
    )
    assert schedules.count() == 0
    assert schedules.forget(datetime.now(UTC) - MINUTE) == 0
    assert schedules.forget(datetime.now(UTC) + MINUTE) == 1
    assert schedules.get("a") is None


def test_changes_come_in_the_order_of_their_commits(schedules: Schedules) -> None:
    for name in "abc":
        schedules.add(stored(name))
    seen = schedules.last_change()
    schedules.put([stored("d"), stored("b", revision="r2")])
    schedules.remove("a", "")
    schedules.pause("c", True, None, "ann")
    changed = schedules.changed_since(seen)
    assert [(each.name, each.lives, each.paused) for each in changed] == [
        *(("b", True, False), ("d", True, False)),
        *(("a", False, False), ("c", True, True)),
    ]
    after = schedules.changed_since(changed[0].change, changed[0].name)
    assert [each.name for each in after] == ["d", "a", "c"]
    assert schedules.changed_since(schedules.last_change()) == []


def test_of_two_edits_at_once_one_wins(schedules: Schedules) -> None:
    schedules.add(stored("a", created_by="ann"))
    change = schedules.last_change()
    assert schedules.replace(stored("a", revision="r2"), change)
    assert not schedules.replace(stored("a", revision="r3"), change)
    found = schedules.get("a")
    assert found is not None
    assert (found.revision, found.created_by) == ("r2", "ann")


def test_pages_and_filters(schedules: Schedules) -> None:
    schedules.put([stored(f"{kind}-{number}") for kind in ("x", "y") for number in range(4)])
    schedules.put([stored("x-file", origin="file", channel="email"), stored("x-p", paused=True)])
    first = schedules.page(Wanted(prefix="x-"), limit=3)
    assert [each.name for each in first] == ["x-0", "x-1", "x-2"]
    second = schedules.page(Wanted(prefix="x-"), limit=3, after=first[-1].name)
    assert [each.name for each in second] == ["x-3", "x-file", "x-p"]
    assert schedules.count(Wanted(origin="file")) == 1
    assert schedules.count(Wanted(channel="sms", paused=False)) == 8
    assert schedules.count(Wanted(paused=True)) == 1


def test_history_is_noted_once(schedules: Schedules, occurrences: Occurrences) -> None:
    schedules.add(stored("a"))
    for _ in range(2):
        occurrences.add([fired("a", 0), fired("a", 1, outcome=FAILED, note="QueueFull")])
    occurrences.add([fired("a", 0, actual=NOW + MINUTE), fired("a", 9, outcome=MISSED, count=7)])
    history = occurrences.of("a")
    assert [(each.planned, each.outcome, each.count, each.note) for each in history] == [
        (NOW + 9 * MINUTE, MISSED, 7, ""),
        (NOW + MINUTE, FAILED, 1, "QueueFull"),
        (NOW, FIRED, 1, ""),
    ]
    assert history[-1].lag == timedelta(seconds=2)
    assert occurrences.counts("a") == {FAILED: 1, FIRED: 1, MISSED: 7}
    assert [each.planned for each in occurrences.of("a", before=NOW + MINUTE)] == [NOW]
    assert [each.outcome for each in occurrences.of("a", outcome=FAILED)] == [FAILED]


def test_the_last_instant_that_is_over(schedules: Schedules, occurrences: Occurrences) -> None:
    for name in "abc":
        schedules.add(stored(name))
    occurrences.add([fired("a", 0), fired("a", 5, outcome=MISSED, count=5)])
    occurrences.add([fired("b", 7, outcome="extra"), fired("c", 2), fired("c", 1)])
    assert occurrences.last(["a", "b", "c", "d"]) == {
        "a": NOW + 5 * MINUTE,
        "c": NOW + 2 * MINUTE,
    }


def test_a_one_shot_that_is_over_is_removed(schedules: Schedules, occurrences: Occurrences) -> None:
    once: dict[str, Any] = {"kind": "at", "origin": ONCE, "spec": {"at": NOW.isoformat()}}
    for name in "abc":
        schedules.add(stored(name, **once))
    schedules.add(stored("d"))
    seen = schedules.last_change()
    occurrences.add([fired("a", 0), fired("b", 0, outcome=MISSED), fired("d", 0)])
    occurrences.add([fired("c", 0, outcome="extra")])
    changed = schedules.changed_since(seen)
    assert [(each.name, each.ending, each.spec) for each in changed] == [
        ("a", FIRED, {}),
        ("b", MISSED, {}),
    ]
    assert [each.name for each in schedules.page(Wanted())] == ["c", "d"]
    again = schedules.add(stored("a", **once))
    assert again is not None
    assert again.ending == FIRED


def test_a_one_shot_that_got_another_instant_is_not_over(
    schedules: Schedules, occurrences: Occurrences
) -> None:
    """What became of its first one may be told when the database has been away."""
    later = (NOW + MINUTE).isoformat()
    schedules.add(stored("a", kind="at", spec={"at": later}))
    occurrences.add([fired("a", 0)])
    found = schedules.get("a")
    assert found is not None and found.lives
    occurrences.add([fired("a", 1)])
    found = schedules.get("a")
    assert found is not None and found.ending == FIRED


def test_what_another_of_that_name_had_fired_counts_no_more(
    schedules: Schedules, occurrences: Occurrences
) -> None:
    """It may have been fired early by hand: the new one would wait for that instant."""
    schedules.add(stored("a"))
    occurrences.add([fired("a", 600, actual=NOW + MINUTE)])
    assert occurrences.last(["a"]) == {"a": NOW + 600 * MINUTE}
    schedules.remove("a", "ann")
    schedules.add(stored("a", created_at=NOW + 2 * MINUTE))
    assert occurrences.last(["a"]) == {}
    occurrences.add([fired("a", 3)])
    assert occurrences.last(["a"]) == {"a": NOW + 3 * MINUTE}


@pytest.mark.parametrize("many", [3, 1200])
def test_old_history_is_purged_but_for_the_last(
    schedules: Schedules, occurrences: Occurrences, many: int
) -> None:
    schedules.put([stored("a"), stored("b")])
    occurrences.add([fired("a", number) for number in range(many)])
    occurrences.add([fired("b", 0), fired("gone", 0)])
    assert occurrences.purge(NOW) == 0
    assert occurrences.purge(NOW + (many + 1) * MINUTE) == many - 1 + 1
    assert occurrences.last(["a", "b"]) == {"a": NOW + (many - 1) * MINUTE, "b": NOW}
