"""What is fired, what is skipped, and how far the watermark moves."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.recurrence import ON_TIME, Misfire, Plan, Recurrence, Skipped, jitter, plan
from notify.recurrence.planning import OVER_CAP, QUIET, SUPERSEDED, TOO_LATE, due_at
from notify.recurrence.quiet import Quiet

DAILY = Recurrence(cron="0 9 * * *", zone="Europe/Berlin")
MINUTELY = Recurrence(every=60)
NIGHT = Quiet.parse("22:00-07:00")
QUIETLY = Recurrence(cron="*/15 * * * *", zone="Europe/Berlin", quiet=NIGHT)
AT_NINE = datetime(2027, 2, 1, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def at(hour: int, minute: int = 0, second: int = 0, *, day: int = 1) -> datetime:
    """On a day of February 2027, by UTC."""
    return datetime(2027, 2, day, hour, minute, second, tzinfo=UTC)


def test_nothing_is_due_yet() -> None:
    assert plan(DAILY, at(7), at(7, 59), Misfire()) == Plan((), (), at(7), AT_NINE, AT_NINE)


def test_what_is_due_is_fired_once() -> None:
    found = plan(DAILY, at(7), at(8, 0, 3), Misfire())
    assert found == Plan((AT_NINE,), (), AT_NINE, AT_NINE + DAY, AT_NINE + DAY)
    assert plan(DAILY, found.watermark, at(8, 0, 4), Misfire()).fire == ()


def test_the_next_run_counts_from_the_planned_instant_however_late_the_last_one_was() -> None:
    every = Recurrence(every=60, start=at(8))
    found = plan(every, at(8), at(8, 1, 29), Misfire())
    assert found.fire == (at(8, 1),)
    assert found.next == at(8, 2)


def test_a_watermark_of_now_never_fires_for_the_past() -> None:
    assert plan(DAILY, at(12), at(12), Misfire(policy="run-all", grace=1e6)).fire == ()


def test_a_clock_that_was_set_back_fires_nothing_twice() -> None:
    found = plan(DAILY, AT_NINE, at(6), Misfire())
    assert (found.fire, found.watermark, found.next) == ((), AT_NINE, AT_NINE + DAY)


@pytest.mark.parametrize(
    ("misfire", "fire", "skipped"),
    [
        (Misfire(policy="skip", grace=30), [at(8, 10)], [(at(8, 1), at(8, 9), 9, TOO_LATE)]),
        (Misfire(), [at(8, 10)], [(at(8, 1), at(8, 9), 9, SUPERSEDED)]),
        (
            Misfire(grace=300),
            [at(8, 10)],
            [(at(8, 1), at(8, 5), 5, TOO_LATE), (at(8, 6), at(8, 9), 4, SUPERSEDED)],
        ),
        (
            Misfire(policy="run-all", cap=3),
            [at(8, 7), at(8, 8), at(8, 9), at(8, 10)],
            [(at(8, 1), at(8, 6), 6, OVER_CAP)],
        ),
        (
            Misfire(policy="run-all", grace=300),
            [at(8, 6), at(8, 7), at(8, 8), at(8, 9), at(8, 10)],
            [(at(8, 1), at(8, 5), 5, TOO_LATE)],
        ),
    ],
)
def test_after_ten_minutes_without_a_beat(
    misfire: Misfire, fire: list[datetime], skipped: list[Any]
) -> None:
    found = plan(MINUTELY, at(8), at(8, 10, 5), misfire)
    assert list(found.fire) == fire
    assert found.skipped == tuple(Skipped(*each) for each in skipped)
    assert (found.watermark, found.next) == (at(8, 10), at(8, 11))


@pytest.mark.parametrize(
    ("late", "policy", "fired"),
    [
        (29, "skip", True),
        (31, "skip", False),
        (3599, "run-latest", True),
        (3601, "run-latest", False),
        (6 * 3600, "run-latest", False),
        (6 * 3600, "run-all", False),
    ],
)
def test_a_message_of_the_morning_does_not_go_out_in_the_afternoon(
    late: int, policy: str, fired: bool
) -> None:
    misfire = Misfire(policy=policy, grace=30.0 if policy == "skip" else 3600.0)
    found = plan(DAILY, at(7), AT_NINE + timedelta(seconds=late), misfire)
    assert found.fire == ((AT_NINE,) if fired else ())
    assert found.watermark == AT_NINE
    assert [each.why for each in found.skipped] == ([] if fired else [TOO_LATE])


def test_what_was_missed_does_not_go_out_at_night() -> None:
    """Six hours of outage, over at three: within its grace, but within quiet hours too."""
    quiet = Recurrence(cron="0 21 * * *", zone="Europe/Berlin", quiet=NIGHT)
    night, morning = at(2, day=2), at(6, day=2)
    found = plan(quiet, at(19), night, Misfire(grace=86400))
    assert found == Plan((), (), at(19), at(20), morning)
    assert plan(quiet, at(19), morning, Misfire(grace=86400)).fire == (at(20),)


def test_what_was_missed_is_skipped_where_quiet_hours_skip() -> None:
    quiet = Recurrence(cron="0 21 * * *", zone="Europe/Berlin", quiet=NIGHT, quiet_policy="skip")
    found = plan(quiet, at(19), at(2, day=2), Misfire(grace=86400))
    assert found.skipped == (Skipped(at(20), at(20), 1, QUIET),)
    assert found.next == at(20, day=2)


def test_a_minute_into_quiet_hours_what_was_on_time_is_fired() -> None:
    found = plan(
        Recurrence(every=60, zone="Europe/Berlin", quiet=NIGHT), at(20, 58), at(21, 0, 5), Misfire()
    )
    # 20:59 is late by 65 s; it waits for the morning, and so does what follows.
    assert (found.fire, found.next, found.next_due) == ((), at(20, 59), at(6, day=2))
    found = plan(
        Recurrence(every=60, zone="Europe/Berlin", quiet=NIGHT),
        at(20, 58),
        at(20, 59, 9),
        Misfire(),
    )
    assert found.fire == (at(20, 59),)


def test_of_many_that_waited_for_the_morning_the_latest_is_fired() -> None:
    found = plan(QUIETLY, at(20, 45), at(6, 0, 2, day=2), Misfire())
    assert found.fire == (at(6, day=2),)
    assert found.skipped == (Skipped(at(21), at(5, 45, day=2), 36, SUPERSEDED),)
    once = Recurrence(cron="30 23 * * *", zone="Europe/Berlin", quiet=NIGHT)
    found = plan(once, at(20), at(6, 0, 2, day=2), Misfire())
    assert (found.fire, found.skipped) == ((at(22, 30),), ())
    everyone = plan(QUIETLY, at(20, 45), at(6, 0, 2, day=2), Misfire(policy="run-all", cap=36))
    assert len(everyone.fire) == 37


def test_a_delay_is_waited_for_and_no_lateness() -> None:
    delay = partial(jitter, "standup", most=1200.0)
    due = AT_NINE + timedelta(seconds=delay(AT_NINE))
    assert due > AT_NINE
    early = plan(DAILY, at(7), due - timedelta(seconds=1), Misfire(), delay)
    assert (early.fire, early.next, early.next_due) == ((), AT_NINE, due)
    assert plan(DAILY, at(7), due + timedelta(seconds=20), Misfire(policy="skip"), delay).fire


def test_a_delay_does_not_lead_into_quiet_hours() -> None:
    late = Recurrence(cron="59 21 * * *", zone="Europe/Berlin", quiet=NIGHT)
    assert late.due(at(20, 59), 59.0) == at(20, 59, 59)
    assert late.due(at(20, 59), 61.0) == at(20, 59)
    assert late.due(at(22), 61.0) == at(6, 1, 1, day=2)


def test_a_delay_ends_where_the_next_is_planned() -> None:
    """What waited for the morning is not overtaken by what is planned then."""
    every = Recurrence(every=5400, quiet=NIGHT)
    assert every.due(at(6), 4800.0) == at(7, 30)
    assert every.due(at(6), 60.0) == at(7, 1)


def test_what_was_missed_gives_way_to_what_waits() -> None:
    delay = 180.0
    found = plan(QUIETLY, at(20, 30), at(6, 1, day=2), Misfire(grace=86400), lambda _: delay)
    assert (found.fire, found.next, found.next_due) == ((), at(21), at(6, 3, day=2))
    assert found.skipped == (Skipped(at(20, 45), at(20, 45), 1, SUPERSEDED),)


def test_a_year_of_every_second_is_counted_not_walked_through() -> None:
    every = Recurrence(every=1)
    now = at(8) + timedelta(days=365)
    found = plan(every, at(8), now, Misfire())
    assert len(found.fire) == ON_TIME + 1
    assert sum(each.count for each in found.skipped) + len(found.fire) == 365 * 86400
    assert all(each.exact for each in found.skipped)
    closed = Recurrence(every=1, exclude=frozenset({date(2027, 2, 2)}))
    found = plan(closed, at(8), now, Misfire(policy="run-all", cap=1000))
    assert len(found.fire) == ON_TIME + 1 + 1000
    assert not any(each.exact for each in found.skipped)


def test_a_one_shot_is_fired_late_or_never_and_then_nothing_follows() -> None:
    once = Recurrence(at=AT_NINE + timedelta(microseconds=250_000))
    assert plan(once, at(7), AT_NINE, Misfire()).fire == ()
    found = plan(once, at(7), at(8, 30), Misfire())
    assert (found.fire, found.next, found.next_due) == ((once.at,), None, None)
    gone = plan(once, at(7), at(10), Misfire())
    assert (gone.fire, gone.next) == ((), None)
    assert gone.watermark == once.at


_RECURRENCES = st.builds(
    Recurrence,
    cron=st.sampled_from(
        ["*/15 * * * *", "0 9 * * *", "30 2 * * *", "0 * * * *", "5,7 6-23 * * *"]
    ),
    zone=st.sampled_from(["Europe/Berlin", "Australia/LHI", "UTC"]),
    quiet=st.sampled_from([Quiet(), NIGHT, Quiet.parse(["12:00-12:30", "SAT,SUN 00:00-24:00"])]),
    quiet_policy=st.sampled_from(["defer", "skip"]),
    exclude=st.sampled_from([frozenset[date](), frozenset({date(2027, 3, 28)})]),
) | st.builds(
    Recurrence,
    every=st.sampled_from([60, 420, 900, 5400, 86400]),
    quiet=st.sampled_from([Quiet(), NIGHT]),
    quiet_policy=st.sampled_from(["defer", "skip"]),
)
_MISFIRES = st.builds(
    Misfire,
    policy=st.sampled_from(["skip", "run-latest", "run-all"]),
    grace=st.sampled_from([30.0, 300.0, 3600.0, 40000.0]),
    cap=st.sampled_from([1, 3, 10]),
)
_STEPS = st.lists(
    st.sampled_from([0.3, 1.0, 20.0, 31.0, 100.0, 900.0, 3600.0, 20000.0, 100_000.0]), max_size=12
)
_STARTS = st.integers(0, 3 * 1440).map(
    lambda minutes: datetime(2027, 3, 26, tzinfo=UTC) + timedelta(minutes=minutes)
)


@settings(max_examples=150, deadline=None)
@given(_RECURRENCES, _MISFIRES, _STARTS, _STEPS, st.sampled_from([0.0, 0.1, 0.99]))
def test_nothing_is_lost_and_nothing_comes_twice(
    recurrence: Recurrence, misfire: Misfire, start: datetime, steps: list[float], share: float
) -> None:
    delay = partial(jitter, "x", most=share * (recurrence.smallest_gap or 0))
    watermark = now = start
    fired: list[datetime] = []
    for step in steps:
        now += timedelta(seconds=step)
        found = plan(recurrence, watermark, now, misfire, delay)
        _Step(recurrence, misfire, watermark, now, found, delay).check()
        fired += found.fire
        watermark = found.watermark
        again = plan(recurrence, watermark, now, misfire, delay)
        assert (again.fire, again.skipped, again.watermark) == ((), (), watermark)
        assert (again.next, again.next_due) == (found.next, found.next_due)
    assert all(a < b for a, b in pairwise(fired))


class _Step:
    """One answer, compared with what is planned, one by one."""

    def __init__(
        self,
        recurrence: Recurrence,
        misfire: Misfire,
        watermark: datetime,
        now: datetime,
        found: Plan,
        delay: Any,
    ) -> None:
        self.recurrence, self.misfire, self.found = recurrence, misfire, found
        self.watermark, self.now = watermark, now
        self.planned = [*recurrence.between(watermark, now)]
        assert self.planned == sorted(self.planned)
        self.due = {each: due_at(recurrence, each, delay) for each in self.planned}

    def late(self, planned: datetime) -> float:
        return (self.now - self.due[planned]).total_seconds()

    def prompt(self, planned: datetime) -> bool:
        return self.late(planned) <= ON_TIME and self.recurrence.quiet_end(planned) is None

    def check(self) -> None:
        self._all_accounted_for()
        self._fired()
        self._skipped()
        self._none_lost()
        following = self.found.next
        assert following == self.recurrence.next_after(self.found.watermark)
        if following is not None:
            assert self.found.next_due is not None
            assert self.found.next_due > self.now

    def _all_accounted_for(self) -> None:
        over = [each for each in self.planned if each <= self.found.watermark]
        assert self.found.watermark == (over[-1] if over else self.watermark)
        gone = []
        for each in self.found.skipped:
            inside = [p for p in self.planned if each.first <= p <= each.last]
            assert (inside[0], inside[-1]) == (each.first, each.last)
            assert each.count == len(inside) if each.exact else each.count < len(inside)
            gone += inside
        assert gone + list(self.found.fire) == over

    def _fired(self) -> None:
        fire = self.found.fire
        assert all(0 <= self.late(each) <= self.misfire.grace for each in fire)
        others = [each for each in fire if not self.prompt(each)]
        assert len(others) <= (self.misfire.cap if self.misfire.policy == "run-all" else 1)
        if self.misfire.policy != "run-all" and others:
            assert fire == tuple(others)
        if self.recurrence.quiet_end(self.now) is not None:
            assert others == []

    def _skipped(self) -> None:
        for each in self.found.skipped:
            inside = [p for p in self.planned if each.first <= p <= each.last]
            assert not any(map(self.prompt, inside))
            too_late = [self.late(p) > self.misfire.grace for p in inside]
            assert all(too_late) if each.why == TOO_LATE else not any(too_late)
            if each.why == OVER_CAP:
                newer = [p for p in self.planned if p > each.last and not self.prompt(p)]
                assert len(newer) >= self.misfire.cap

    def _none_lost(self) -> None:
        """The latest that could be fired is fired, or waits, or a later one does."""
        in_time = [p for p in self.planned if 0 <= self.late(p) <= self.misfire.grace]
        if in_time and not any(each.why == QUIET for each in self.found.skipped):
            latest = in_time[-1]
            waits = [p for p in self.planned if p > self.found.watermark]
            assert latest in self.found.fire or waits
