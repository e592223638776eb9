"""What people are shown: descriptions, previews, quiet hours; and what identifies a firing."""

from datetime import UTC, date, datetime, timedelta
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.recurrence import Recurrence, jitter, occurrence_id, parse_recurrence, preview
from notify.recurrence.quiet import Quiet
from notify.recurrence.zones import instants, zone

NOW = datetime(2027, 3, 1, tzinfo=UTC)
BERLIN = zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cron": "0 9 * * *", "zone": "Europe/Berlin"}, "at 09:00 every day, in Europe/Berlin"),
        ({"cron": "0 */6 * * *"}, "at minute 0 past every sixth hour, in UTC"),
        ({"cron": "@hourly"}, "at the start of every hour, in UTC"),
        ({"cron": "30 18 L * *"}, "at 18:30 on the last day of every month, in UTC"),
        ({"cron": "0 9 * * MON#2"}, "at 09:00 on the second Monday of the month, in UTC"),
        ({"cron": "0 9 * * FRIL"}, "at 09:00 on the last Friday of the month, in UTC"),
        ({"every": "90s"}, "every 90 seconds"),
        (
            {"every": 7200, "start": "2027-04-01T00:00Z"},
            "every 2 hours, from 2027-04-01 00:00:00+00:00",
        ),
        (
            {"at": "2027-07-01T09:00", "zone": "Asia/Tokyo"},
            "once at 2027-07-01 09:00:00+09:00, in Asia/Tokyo",
        ),
        (
            {"every": "1d", "quiet": "22:00-07:00", "exclude": ["2027-12-24"]},
            "every 1 day, in UTC, not on 1 date, deferred in quiet hours (22:00-07:00)",
        ),
    ],
)
def test_in_words(values: dict[str, Any], words: str) -> None:
    assert parse_recurrence(values, now=NOW).describe() == words


def test_somebody_who_wants_the_end_of_the_month_is_told_how() -> None:
    told = "months without day 31 are skipped; L is the last day of every month"
    assert Recurrence(cron="0 9 31 * *").remarks() == (told,)
    assert Recurrence(cron="0 9 L * *").remarks() == ()
    assert Recurrence(cron="0 9 * * *").remarks() == ()
    ends = [*Recurrence(cron="0 9 L * *").between(NOW, NOW + timedelta(days=100))]
    assert [(each.month, each.day) for each in ends] == [(3, 31), (4, 30), (5, 31)]


def notes(recurrence: Recurrence, after: datetime, count: int) -> list[tuple[str, str]]:
    return [(each.local, each.note) for each in preview(recurrence, after, count)]


def test_a_preview_says_what_the_clock_does() -> None:
    nightly = Recurrence(cron="30 2 * * *", zone="Europe/Berlin")
    assert notes(nightly, datetime(2027, 3, 27, tzinfo=UTC), 3) == [
        ("2027-03-27 02:30:00+01:00", ""),
        (
            "2027-03-28 03:00:00+02:00",
            "clock goes forward: 02:30 does not exist, runs at 03:00",
        ),
        ("2027-03-29 02:30:00+02:00", ""),
    ]
    assert notes(nightly, datetime(2027, 10, 30, 12, tzinfo=UTC), 2) == [
        ("2027-10-31 02:30:00+02:00", "clock goes back: first 02:30 of two"),
        ("2027-11-01 02:30:00+01:00", "clock went back by 1 h"),
    ]
    hourly = Recurrence(cron="0 * * * *", zone="Europe/Berlin")
    assert notes(hourly, datetime(2027, 10, 30, 23, 30, tzinfo=UTC), 3) == [
        ("2027-10-31 02:00:00+02:00", "clock goes back: first 02:00 of two"),
        ("2027-10-31 02:00:00+01:00", "clock goes back: second 02:00 of two"),
        ("2027-10-31 03:00:00+01:00", ""),
    ]
    assert notes(hourly, datetime(2027, 3, 28, 0, 30, tzinfo=UTC), 1) == [
        ("2027-03-28 03:00:00+02:00", "clock went forward by 1 h"),
    ]
    daily = Recurrence(every=86400, zone="Australia/LHI")
    assert [note for _, note in notes(daily, datetime(2027, 4, 2, 12, tzinfo=UTC), 3)] == [
        "",
        "clock went back by 0 h 30 min",
        "",
    ]


def test_a_preview_says_what_is_skipped_and_what_waits() -> None:
    values: dict[str, Any] = {"zone": "Europe/Berlin", "quiet": Quiet.parse("22:00-07:00")}
    deferred = Recurrence(cron="30 23 * * *", **values)
    (only,) = preview(deferred, datetime(2027, 2, 1, 12, tzinfo=UTC), 1)
    assert only.planned == datetime(2027, 2, 1, 22, 30, tzinfo=UTC)
    assert only.due == datetime(2027, 2, 2, 6, tzinfo=UTC)
    assert only.note == "deferred by quiet hours to 2027-02-02 07:00:00+01:00"
    skipping = Recurrence(
        cron="0 * * * *", quiet_policy="skip", exclude=frozenset({date(2027, 2, 2)}), **values
    )
    assert notes(skipping, datetime(2027, 2, 1, 19, 30, tzinfo=UTC), 5) == [
        ("2027-02-01 21:00:00+01:00", ""),
        ("2027-02-01 22:00:00+01:00", "skipped: quiet hours"),
        ("2027-02-02 07:00:00+01:00", "skipped: excluded"),
        ("2027-02-03 00:00:00+01:00", "skipped: quiet hours"),
        ("2027-02-03 07:00:00+01:00", ""),
    ]
    assert preview(Recurrence(at=NOW), NOW, 3) == []


@pytest.mark.parametrize(
    ("local", "until"),
    [
        ("2027-03-27 22:00", "2027-03-28 07:00"),
        ("2027-03-27 21:59", None),
        ("2027-03-28 06:59", "2027-03-28 07:00"),
        ("2027-03-28 07:00", None),
        ("2027-03-28 13:00", "2027-03-28 15:00"),
        ("2027-03-27 13:00", None),
        ("2027-10-30 23:00", "2027-10-31 07:00"),
    ],
)
def test_quiet_hours_are_what_the_clock_on_the_wall_says(local: str, until: str | None) -> None:
    quiet = Quiet.parse(["22:00-07:00", "SUN 12:00-14:00", "SUN 14:00-15:00"])
    (instant,) = instants(datetime.fromisoformat(local), BERLIN)
    expected = None if until is None else instants(datetime.fromisoformat(until), BERLIN)[0]
    assert quiet.end(instant, BERLIN) == expected
    assert (quiet.start(instant, BERLIN) is None) == (until is None)


def test_quiet_hours_that_end_where_the_clock_changes() -> None:
    quiet = Quiet.parse("22:00-02:30")
    forward = datetime(2027, 3, 28, 0, 45, tzinfo=UTC)
    assert quiet.end(forward, BERLIN) == datetime(2027, 3, 28, 1, tzinfo=UTC)
    back = datetime(2027, 10, 31, 0, 15, tzinfo=UTC)
    assert quiet.end(back, BERLIN) == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)


@given(
    st.lists(
        st.tuples(st.integers(0, 1439), st.integers(1, 1439), st.sampled_from(["", "SAT,SUN "])),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 500_000),
)
def test_quiet_hours_begin_and_end_around_an_instant(
    spans: list[tuple[int, int, str]], minutes: int
) -> None:
    def clock(minute: int) -> str:
        return f"{minute // 60:02}:{minute % 60:02}"

    texts = [
        f"{days}{clock(start)}-{clock((start + length) % 1440)}" for start, length, days in spans
    ]
    try:
        quiet = Quiet.parse(texts)
    except ValueError:
        return
    assert Quiet.parse(quiet.to_list()) == quiet
    instant = NOW + timedelta(minutes=minutes)
    start, end = quiet.start(instant, UTC), quiet.end(instant, UTC)
    assert (start is None) == (end is None)
    if start is not None and end is not None:
        assert start <= instant < end
        assert quiet.end(start, UTC) == end
        assert quiet.end(end, UTC) is None
        assert quiet.end(start - timedelta(seconds=1), UTC) is None


def test_the_identity_of_a_firing() -> None:
    planned = datetime(2027, 3, 1, 9, tzinfo=BERLIN)
    assert occurrence_id("standup", planned) == "schedule:standup:20270301T080000Z"
    fraction = planned + timedelta(microseconds=1500)
    assert occurrence_id("standup", fraction) == "schedule:standup:20270301T080000_001500Z"
    assert len(occurrence_id("x" * 64, fraction)) + len(":1000000000") <= 128


@given(st.datetimes(datetime(2024, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_the_delay_of_a_firing_is_always_the_same(planned: datetime) -> None:
    delay = jitter("standup", planned, 60.0)
    assert 0 <= delay < 60
    assert jitter("standup", planned.astimezone(BERLIN), 60.0) == delay
    assert jitter("standup", planned, 0.0) == 0


def test_delays_are_even_over_schedules_and_over_firings() -> None:
    """Ten thousand at nine: each tenth of the time gets a tenth of them."""
    for delays in (
        [jitter(f"s{n}", NOW, 100.0) for n in range(10_000)],
        [jitter("s", NOW + timedelta(days=n), 100.0) for n in range(10_000)],
    ):
        tenths = [sum(1 for each in delays if low <= each < low + 10) for low in range(0, 100, 10)]
        assert all(800 < each < 1200 for each in tenths)
        assert 48 < mean(delays) < 52
