"""Where other schedulers were an hour off, fired twice or not at all: the same cases here."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from notify.recurrence import Recurrence


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        pytest.param(
            *("0 8 * * *", "Europe/Zurich", "2025-10-25T06:00"),
            ["2025-10-26T07:00", "2025-10-27T07:00"],
            id="daily in autumn, which adding wall clocks makes an hour late",
        ),
        pytest.param(
            *("0 8 * * *", "Europe/Zurich", "2026-03-28T07:00"),
            ["2026-03-29T06:00", "2026-03-30T06:00"],
            id="daily in spring, which adding wall clocks makes an hour early",
        ),
        pytest.param(
            *("0 * * * *", "US/Pacific", "2026-11-01T07:00"),
            ["2026-11-01T08:00", "2026-11-01T09:00", "2026-11-01T10:00"],
            id="hourly in the hour that comes twice",
        ),
        pytest.param(
            *("4 16 * * *", "America/New_York", "2025-03-08T21:04"),
            ["2025-03-09T20:04", "2025-03-10T20:04"],
            id="in the afternoon of the day of the change",
        ),
        pytest.param(
            *("30 1 * * *", "America/New_York", "2026-10-31T05:30"),
            ["2026-11-01T05:30", "2026-11-02T06:30"],
            id="a time that comes twice",
        ),
        pytest.param(
            *("30 2 * * *", "America/New_York", "2026-03-07T07:30"),
            ["2026-03-08T07:00", "2026-03-09T06:30"],
            id="a time that does not come",
        ),
        pytest.param(
            *("* * * * *", "America/New_York", "2026-11-01T05:59"),
            ["2026-11-01T06:00", "2026-11-01T06:01"],
            id="every minute when the clock goes back",
        ),
        pytest.param(
            *("0 9 29 2 *", "UTC", "2026-01-01T00:00"),
            ["2028-02-29T09:00", "2032-02-29T09:00"],
            id="a day of leap years",
        ),
        pytest.param(
            *("0 9 31 * *", "UTC", "2026-04-01T00:00"),
            ["2026-05-31T09:00", "2026-07-31T09:00"],
            id="a day that not every month has",
        ),
        pytest.param(
            *("0 9 L * *", "UTC", "2026-04-01T00:00"),
            ["2026-04-30T09:00", "2026-05-31T09:00"],
            id="the last day of the month",
        ),
        pytest.param(
            *("50 17 * * *", "Europe/London", "2026-03-27T18:00"),
            ["2026-03-28T17:50", "2026-03-29T16:50"],
            id="one entry for summer and winter",
        ),
    ],
)
def test_cron(cron: str, zone: str, after: str, expected: list[str]) -> None:
    rule = Recurrence(cron=cron, zone=zone)
    found = rule.between(utc(after), utc("2040-01-01T00:00"))
    assert [*islice(found, len(expected))] == [utc(each) for each in expected]


def test_every_quarter_of_a_minute_goes_on_when_the_clock_goes_back() -> None:
    rule = Recurrence(every=15, zone="America/New_York")
    found = [*rule.between(utc("2026-11-01T04:59"), utc("2026-11-01T08:01"))]
    assert {b - a for a, b in pairwise(found)} == {timedelta(seconds=15)}
