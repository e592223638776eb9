"""What is refused, and how it is said; what is kept is the same when it is read again."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.errors import InvalidInput
from notify.recurrence import Recurrence, parse_misfire, parse_recurrence

NOW = datetime(2027, 3, 1, tzinfo=UTC)


def parse(**values: Any) -> Recurrence:
    return parse_recurrence(values, now=NOW)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("nothing", {}, "cron, every, at: exactly one"),
    ("two kinds", {"cron": "0 9 * * *", "every": "1h"}, "cron, every, at: exactly one"),
    ("unknown key", {"every": "1h", "timezone": "UTC"}, "timezone: unknown key; known: cron"),
    ("zone", {"every": "1h", "zone": "Mars/Base"}, "zone: is not a known time zone"),
    ("zone misspelt", {"every": "1h", "zone": "Europe/Berln"}, "is Europe/Berlin meant?"),
    ("zone by town", {"every": "1h", "zone": "berlin"}, "is Europe/Berlin meant?"),
    ("zone as path", {"every": "1h", "zone": "../zone"}, "zone: must be an IANA name"),
    ("zone of the machine", {"every": "1h", "zone": "localtime"}, "zone: must be an IANA name"),
    ("zone as folder", {"every": "1h", "zone": "Europe"}, "zone: is not a known time zone"),
    ("zone as number", {"every": "1h", "zone": 1}, "zone: must be an IANA name"),
    ("cron as number", {"cron": 5}, "cron: must be text with five fields"),
    ("cron empty", {"cron": ""}, "cron: must have five fields"),
    ("cron of four", {"cron": "0 9 * *"}, "cron: must have five fields"),
    (
        "cron with seconds",
        {"cron": "*/10 * * * * *"},
        "five fields, not six; for seconds, say every",
    ),
    ("cron of seven", {"cron": "* * * * * * *"}, "cron: must have five fields"),
    ("cron long", {"cron": f"{'1,' * 200}1 * * * *"}, "cron: must have at most 256 characters"),
    ("cron digits", {"cron": f"{'1' * 99} * * * *"}, "is no minute"),
    ("macro", {"cron": "@reboot"}, "cron: must be five fields, or one of @yearly"),
    ("30 February", {"cron": "0 0 30 2 *"}, "'30' in the third field: fires on no day"),
    ("31 April", {"cron": "0 0 31 APR,JUN *"}, "fires on no day that there is in those months"),
    ("32nd", {"cron": "0 0 32 * *"}, "cron: '32' is no day of month"),
    ("day 0", {"cron": "0 0 0 * *"}, "cron: '0' is no day of month"),
    ("fifth Monday of first", {"cron": "0 0 */31 2 1#5"}, "cron: fires on no day that there is"),
    ("minute", {"cron": "60 * * * *"}, "cron: '60' is no minute"),
    ("hour", {"cron": "0 24 * * *"}, "cron: '24' is no hour"),
    ("month", {"cron": "0 0 1 FOO *"}, "cron: 'FOO' is no month"),
    ("weekday", {"cron": "0 0 * * 8"}, "cron: '8' is no day of week"),
    ("sixth Monday", {"cron": "0 0 * * MON#6"}, "cron: 'MON#6' is no day of week"),
    ("backwards", {"cron": "0 17-9 * * *"}, "cron: '17-9' is no hour"),
    ("step of none", {"cron": "*/0 * * * *"}, "cron: '*/0' is no minute"),
    ("question mark", {"cron": "0 0 ? * MON"}, "cron: '?' is no day of month"),
    ("every fraction", {"every": 0.5}, "every: must be at least one second"),
    ("every uneven", {"every": 1.5}, "every: must be whole seconds"),
    ("every zero", {"every": 0}, "every: must be at least one second"),
    ("every negative", {"every": -5}, "every: must be at least one second"),
    ("every huge", {"every": 10**400}, "every: must be a shorter duration"),
    ("every nan", {"every": float("nan")}, "every: must be at least one second"),
    ("every infinite", {"every": float("inf")}, "every: must be at least one second"),
    ("every true", {"every": True}, "every: must be a duration"),
    ("every word", {"every": "hourly"}, "every: must be a duration"),
    ("every long", {"every": "367d"}, "every: must be at least one second and at most a year"),
    ("at in the past", {"at": "2027-02-28T23:59:59Z"}, "at: is in the past"),
    ("at now", {"at": NOW}, "at: is in the past"),
    ("at naive", {"at": "2027-03-01T09:00"}, "at: has no UTC offset, so zone must be given"),
    ("at day", {"at": "2027-03-02"}, "at: must be a date and time"),
    ("at word", {"at": "tomorrow"}, "at: must be a date and time"),
    ("at number", {"at": 1_800_000_000}, "at: must be a date and time"),
    ("at far", {"at": "9999-12-31T23:59:59-10:00"}, "at: must be between the years"),
    ("at first", {"at": "0001-01-01T00:00", "zone": "Asia/Tokyo"}, "at: must be between the years"),
    (
        "start first",
        {"every": "1h", "start": "0001-01-01", "zone": "Asia/Tokyo"},
        "start: must be between the years",
    ),
    (
        "end for ever",
        {"every": "1h", "end": "9999-12-31", "zone": "UTC"},
        "end: must be between the years",
    ),
    (
        "at in a gap",
        {"at": "2027-03-28T02:30", "zone": "Europe/Berlin"},
        "at: does not exist in Europe/Berlin, where the clock goes forward to 03:00",
    ),
    (
        "at twice",
        {"at": "2027-10-31T02:30", "zone": "Europe/Berlin"},
        "at: happens twice in Europe/Berlin; say which by an offset",
    ),
    ("at with end", {"at": "2028-01-01T00:00Z", "end": "2029-01-01T00:00Z"}, "end: has no meaning"),
    ("end naive", {"every": "1h", "end": "2028-01-01"}, "end: has no UTC offset"),
    ("end in the past", {"every": "1h", "end": "2027-02-01T00:00Z"}, "end: is in the past"),
    (
        "end before start",
        {"every": "1h", "start": "2028-02-01T00:00Z", "end": "2028-01-01T00:00Z"},
        "end: is before start",
    ),
    (
        "nothing between",
        {"cron": "0 9 1 1 *", "start": "2027-05-01T00:00Z", "end": "2027-06-01T00:00Z"},
        "end: leaves nothing that would ever fire",
    ),
    (
        "start in fractions",
        {"every": "1h", "start": "2028-01-01T00:00:00.5Z"},
        "start: must be",
    ),
    ("exclude text", {"every": "1h", "exclude": "2027-12-24"}, "exclude: must be a list"),
    (
        "exclude word",
        {"every": "1h", "exclude": ["2027-12-24", "xmas"]},
        "exclude: number 2 must be",
    ),
    (
        "all excluded",
        {"cron": "0 9 * * *", "end": "2027-03-02T12:00Z", "exclude": ["2027-03-01", "2027-03-02"]},
        "exclude, end: leaves nothing that would ever fire",
    ),
    ("quiet word", {"every": "1h", "quiet": "night"}, 'quiet: must be like "22:00-07:00"'),
    ("quiet empty", {"every": "1h", "quiet": "22:00-22:00"}, "quiet: must be like"),
    ("quiet weekday", {"every": "1h", "quiet": "XXX 1:00-2:00"}, "weekdays are MON, TUE"),
    (
        "quiet always",
        {"every": "1h", "quiet": ["0:00-12:00", "12:00-24:00"]},
        "quiet: leaves no time",
    ),
    ("quiet number", {"every": "1h", "quiet": 22}, "quiet: must be like"),
    (
        "quiet at all firings",
        {"cron": "0 23 * * *", "quiet": "22:00-07:00", "quiet_policy": "skip"},
        "quiet: leaves nothing that would ever fire",
    ),
    (
        "policy",
        {"every": "1h", "quiet": "1:00-2:00", "quiet_policy": "drop"},
        "quiet_policy: must be",
    ),
    ("policy alone", {"every": "1h", "quiet_policy": "skip"}, "quiet_policy: needs quiet hours"),
]


@pytest.mark.parametrize(
    ("values", "problem"),
    [pytest.param(values, problem, id=name) for name, values, problem in REFUSED],
)
def test_refused_when_it_is_written(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(**values)
    assert problem in str(caught.value)
    assert all(": " in line for line in str(caught.value).split("\n"))


def test_every_problem_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(cron="x", zone="y", exclude=3, wrong=1)
    keys = [line.partition(":")[0] for line in str(caught.value).split("\n")]
    assert sorted(keys) == ["cron", "exclude", "wrong", "zone"]


@settings(max_examples=500, deadline=None)
@given(st.text("0123456789*/-,#LWMONFRIJAN@ ", max_size=24), st.text(max_size=12))
def test_no_text_is_a_surprise(text: str, other: str) -> None:
    """What is taken fires, and can be described; anything else is an error that says why."""
    for values in ({"cron": text}, {"cron": f"{text} * * *"}, {"cron": f"0 9 {text}"}):
        try:
            made = parse(**values)
        except InvalidInput:
            continue
        assert made.next_after(NOW) is not None
        assert made.describe()
        assert made.smallest_gap is None or made.smallest_gap >= 60
    for key in ("cron", "every", "at", "zone", "start", "end", "quiet"):
        with pytest.raises(InvalidInput):
            parse(**{"every": "1h", "exclude": 1, key: other})


def test_times_on_the_clock_of_the_zone() -> None:
    made = parse(at="2027-07-01T09:00", zone="Europe/Berlin")
    assert made.at == datetime(2027, 7, 1, 7, tzinfo=UTC)
    native = parse(at=datetime(2027, 7, 1, 9), zone="Europe/Berlin")  # noqa: DTZ001
    assert native == made
    assert parse(at="2027-07-01T09:00+02:00").at == made.at
    # Where one of two is meant, the offset says which.
    assert parse(at="2027-10-31T02:30+01:00", zone="Europe/Berlin").at is not None


def test_days_are_whole_and_the_last_one_counts() -> None:
    made = parse(cron="0 9 * * *", zone="Europe/Berlin", start="2027-03-10", end=date(2027, 3, 12))
    found = [*made.between(NOW, NOW + timedelta(days=60))]
    assert [each.day for each in found] == [10, 11, 12]
    assert made.last_before(NOW + timedelta(days=60)) == found[-1]
    assert made.last_before(found[0]) is None
    assert made.start == datetime(2027, 3, 9, 23, tzinfo=UTC)
    assert made.end == datetime(2027, 3, 12, 22, 59, 59, tzinfo=UTC)


def test_a_day_begins_where_its_midnight_is_skipped() -> None:
    made = parse(every="1h", zone="Africa/Cairo", start="2027-04-30")
    assert made.start == datetime(2027, 4, 29, 22, tzinfo=UTC)


def test_what_is_left_out_is_as_if_it_were_not_given() -> None:
    assert parse(every="90s", cron=None, zone=None, quiet=None) == Recurrence(every=90)


MADE: list[dict[str, Any]] = [
    {"cron": "@daily"},
    {
        "cron": " 0  9 * * mon-fri ",
        "zone": "Asia/Kolkata",
        "exclude": ["2027-12-24", date(2027, 1, 1)],
    },
    {"cron": "0 18 L * *", "end": "2029-01-01T00:00Z"},
    {"every": "15m", "start": "2027-04-01", "zone": "Europe/London"},
    {"every": 43200, "quiet": ["22:00–07:00", "sat, sun 00:00-24:00"], "quiet_policy": "skip"},
    {"cron": "*/5 * * * *", "quiet": "FRI-MON 21:30-06:15", "zone": "America/New_York"},
    {"at": "2027-07-01T09:00:00.250+02:00"},
]


@pytest.mark.parametrize("number", range(len(MADE)))
def test_the_same_when_it_is_read_again(number: int) -> None:
    made = parse(**MADE[number])
    kept = json.loads(json.dumps(made.to_dict()))
    assert Recurrence.from_dict(kept) == made
    assert parse(**kept) == made
    assert Recurrence.from_dict(kept).describe() == made.describe()


def test_what_is_over_can_still_be_read() -> None:
    kept = parse(at="2027-07-01T09:00Z").to_dict()
    later = Recurrence.from_dict(kept)
    assert later.next_after(datetime(2028, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    "values",
    [
        {"cron": "x"},
        {"cron": "0 0 30 2 *"},
        {},
        {"every": 60, "cron": "0 9 * * *"},
        {"every": 60, "wrong": 1},
        {"every": 60, "zone": "Mars/Base"},
        {"at": "soon"},
        {"at": 5},
        {"every": 60, "exclude": [5]},
        {"every": "60"},
        {"every": 0},
        {"every": True},
        {"every": 60, "quiet_policy": "x"},
    ],
)
def test_what_somebody_wrote_into_the_store_is_refused_there(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="recurrence: cannot be read"):
        Recurrence.from_dict(values)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ("sometimes", "misfire.policy: must be one of skip, run-latest, run-all"),
        (5, "misfire: must be one of"),
        ({"policy": "skip", "window": 1}, "misfire: has an unknown key"),
        ({"grace": "soon"}, "misfire.grace: must be a duration"),
        ({"grace": 5}, "misfire.grace: must be from 30 s"),
        ({"grace": "400d"}, "misfire.grace: must be from 30 s"),
        ({"cap": 5}, "misfire.cap: is for run-all only"),
        ({"policy": "run-all", "cap": 0}, "misfire.cap: must be a whole number"),
        ({"policy": "run-all", "cap": True}, "misfire.cap: must be a whole number"),
        ({"policy": ["skip"]}, "misfire.policy: must be one of"),
    ],
)
def test_a_misfire_that_is_refused(values: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match="misfire") as caught:
        parse_misfire(values)
    assert problem in str(caught.value)


def test_a_misfire_is_kept() -> None:
    for values in ("skip", {}, {"policy": "run-all", "cap": 3, "grace": "2h"}):
        made = parse_misfire(values)
        assert parse_misfire(made.to_dict()) == made
    assert parse_misfire("skip").grace == 30
    assert parse_misfire({}).grace == 3600
