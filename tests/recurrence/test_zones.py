"""Every zone whose clock is changed from 2024 to 2030: the same instants as minute by minute."""

from bisect import bisect_left, bisect_right
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from notify.recurrence import Recurrence
from tests.recurrence.reference import MINUTE, Clock, Fields, changes, clock, firings, zones

COARSE = (
    "30 2 * * *",
    "0 2 * * *",
    "59 1 * * *",
    "0 3 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "45 23 * * *",
    "0 1,2,3 * * *",
    "15,45 2 * * *",
    "0 */6 * * *",
    "30 */2 * * *",
    "0 9 * * MON-FRI",
    "30 2 L * *",
    "15 0 * * SUN",
)
FINE = (
    "0 * * * *",
    "30 * * * *",
    "*/15 * * * *",
    "*/20 1-3 * * *",
    "*/30 2 * * *",
    "10-50/10 1-2 * * *",
    "*/15 0,23 * * *",
    "7,37 * * * SAT,SUN",
)
# The date line was moved: there was no 30 December in Samoa, and no 21 August in Kwajalein.
MOVED = (
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Pacific/Kwajalein", datetime(1993, 8, 21, 12, tzinfo=UTC)),
)


def check(text: str, zone: str, shown: Clock) -> None:
    """What is planned within these minutes, forwards and backwards."""
    start, end = shown[1][0], shown[-1][0]
    expected = firings(text, shown)
    recurrence = Recurrence(cron=text, zone=zone)
    assert [*recurrence.between(start - MINUTE, end)] == expected, text
    backwards, bound = [], end + MINUTE
    while (found := recurrence.last_before(bound)) is not None and found >= start:
        backwards.append(found)
        bound = found
    assert backwards[::-1] == expected, text


def check_from(text: str, zone: str, shown: Clock, step: int) -> None:
    """From any instant between, not only from one that is planned."""
    start, end = shown[1][0], shown[-1][0]
    expected = firings(text, shown)
    recurrence = Recurrence(cron=text, zone=zone)
    for number in range(1, len(shown), step):
        instant = shown[number][0] + timedelta(seconds=number % 60)
        following = expected[bisect_right(expected, instant) :][:1]
        found = recurrence.next_after(instant)
        assert [found] == following if following else found is None or found > end, text
        preceding = expected[: bisect_left(expected, instant)][-1:]
        found = recurrence.last_before(instant)
        assert [found] == preceding if preceding else found is None or found < start, text


@pytest.mark.parametrize("name", zones())
def test_around_each_change(name: str) -> None:
    where = ZoneInfo(name)
    for change in changes(name):
        wide = clock(where, change - timedelta(hours=13), change + timedelta(hours=13))
        for text in COARSE:
            check(text, name, wide)
        near = clock(where, change - timedelta(hours=4), change + timedelta(hours=4))
        for text in FINE:
            check(text, name, near)


@pytest.mark.parametrize("name", ["Europe/Berlin", "Australia/LHI", "Africa/Casablanca"])
def test_from_any_instant(name: str) -> None:
    where = ZoneInfo(name)
    for change in changes(name)[:2]:
        shown = clock(where, change - timedelta(hours=30), change + timedelta(hours=30))
        for text in (*COARSE, *FINE):
            check_from(text, name, shown, 29)


@pytest.mark.parametrize(("name", "change"), MOVED)
def test_where_a_day_is_left_out(name: str, change: datetime) -> None:
    shown = clock(ZoneInfo(name), change - timedelta(hours=30), change + timedelta(hours=30))
    for text in (*COARSE, *FINE):
        check(text, name, shown)
        check_from(text, name, shown, 17)


_MINUTES = st.one_of(
    st.just("*"),
    st.sampled_from(["*/5", "*/7", "*/30", "10-40", "5-59/9"]),
    st.lists(st.integers(0, 59), min_size=1, max_size=3).map(lambda n: ",".join(map(str, n))),
)
_HOURS = st.one_of(
    st.just("*"),
    st.sampled_from(["*/2", "*/5", "0-5", "1-3", "0-23", "22-23", "*/1"]),
    st.lists(st.integers(0, 23), min_size=1, max_size=3).map(lambda n: ",".join(map(str, n))),
)
_DAYS = st.sampled_from(["*", "*", "*", "*/2", "L", "LW", "1-7", "13", "28,31", "10-20/3"])
_MONTHS = st.sampled_from(["*", "*", "*", "MAR-NOV", "*/2", "1,4,10"])
_WEEKDAYS = st.sampled_from(["*", "*", "*", "MON-FRI", "SUN", "7", "6#1", "5L", "0#4", "1,3"])
EXPRESSIONS = st.tuples(_MINUTES, _HOURS, _DAYS, _MONTHS, _WEEKDAYS).map(" ".join)
_CHANGES = [(name, each) for name in zones() for each in changes(name)]
_ALL = sorted(available_timezones() - {"localtime", "posixrules", "Factory"})


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, st.integers(0, len(_CHANGES) - 1), st.integers(-1800, 300))
@example("*/30 2 * * *", 0, -60)
def test_any_expression_near_any_change(text: str, number: int, minutes: int) -> None:
    name, change = _CHANGES[number]
    start = change + minutes * MINUTE
    check(text, name, clock(ZoneInfo(name), start, start + timedelta(hours=30)))


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS, st.sampled_from(_ALL), st.integers(0, 7 * 365 * 1440))
def test_any_expression_in_any_zone(text: str, name: str, minutes: int) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC) + minutes * MINUTE
    shown = clock(ZoneInfo(name), start, start + timedelta(hours=30))
    check(text, name, shown)
    check_from(text, name, shown, 173)


@pytest.mark.parametrize(
    "text",
    [
        "0 9 L * *",
        "0 9 LW * *",
        "0 9 * * MON#2",
        "0 9 * * FRIL",
        "0 9 29 2 *",
        "0 9 31 * *",
        "0 9 13 * FRI",
        "0 9 */2 * MON",
        "0 9 * * 7",
        "0 9 1-7 JAN-JUN SAT,SUN",
        "0 9 * FEB SUN#5",
    ],
)
def test_days_of_twelve_years(text: str) -> None:
    start = datetime(2024, 1, 1, 9, tzinfo=UTC)
    fields = Fields.of(text.replace("FRIL", "5L"))
    mornings = [start + timedelta(days=n) for n in range(12 * 366)]
    expected = [each for each in mornings if fields.on(each.date())]
    assert [*Recurrence(cron=text).between(start - MINUTE, mornings[-1])] == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 366 * 86400), st.integers(0, 10**9), st.integers(-(10**8), 10**9))
def test_an_interval_is_counted_in_real_seconds_from_its_start(
    every: int, start: int, at: int
) -> None:
    anchor = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=start)
    recurrence = Recurrence(every=every, start=anchor, zone="Europe/Berlin")
    instant = anchor + timedelta(seconds=at)
    steps = max(0, at // every + 1)
    assert recurrence.next_after(instant) == anchor + timedelta(seconds=steps * every)
    before = -(-at // every) - 1
    expected = anchor + timedelta(seconds=before * every) if before >= 0 else None
    assert recurrence.last_before(instant) == expected
