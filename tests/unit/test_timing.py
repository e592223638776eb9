"""When schedules fire, and that every beat, however late, means the same instant."""

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redbeat import RedBeatSchedulerEntry

from notify.config import Settings
from notify.errors import InvalidInput
from notify.schedule import Timing, parse_timing
from notify.schedule.beat import occurrence, planned_instant
from notify.schedule.entries import beat_app
from tests.unit.values import make

LAST = datetime(2027, 3, 1, 9, 0, 30, tzinfo=UTC)
NAIVE = datetime(2027, 3, 1, 9, 0)  # noqa: DTZ001
AHEAD = datetime(2222, 2, 22, 22, 22, tzinfo=UTC)


def parse(every: Any = None, cron: Any = None, at: Any = None) -> Timing:
    return parse_timing(every=every, cron=cron, at=at)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "give exactly one of"),
        ({"every": 5, "cron": "* * * * *"}, "give exactly one of"),
        ({"cron": "* * * * *", "at": AHEAD}, "give exactly one of"),
        ({"every": 0}, "every: "),
        ({"every": 0.999}, "every: "),
        ({"every": -5}, "every: "),
        ({"every": math.nan}, "every: "),
        ({"every": math.inf}, "every: "),
        ({"every": 1e300}, "every: "),
        ({"cron": ""}, "cron: must have five fields"),
        ({"cron": "* * * *"}, "cron: must have five fields"),
        ({"cron": "* * * * * *"}, "cron: must have five fields"),
        ({"cron": "60 * * * *"}, "cron: "),
        ({"cron": "-1 * * * *"}, "cron: "),
        ({"cron": "*/0 * * * *"}, "cron: "),
        ({"cron": "a * * * *"}, "cron: "),
        ({"cron": "0 0 31 2 *"}, "cron: "),
        ({"cron": "0 0 * * 8"}, "cron: "),
        ({"at": NAIVE}, "at: must have a UTC offset"),
        ({"at": LAST.replace(year=2020)}, "at: must be in the future"),
        ({"at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))}, "at: must be before"),
    ],
)
def test_a_bad_timing_is_refused_by_the_name_of_its_option(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidInput, match=named):
        parse(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 1}, "every 1 s"),
        ({"every": 5400.5}, "every 5400.5 s"),
        ({"cron": "*/5 9-17 * * mon-fri"}, "cron */5 9-17 * * mon-fri (UTC)"),
        ({"cron": "0 0 29 2 *"}, "cron 0 0 29 2 * (UTC)"),
        ({"at": AHEAD}, f"once at {AHEAD}"),
        ({"at": AHEAD.astimezone(timezone(timedelta(hours=9)))}, f"once at {AHEAD}"),
    ],
)
def test_a_good_timing_says_when(options: dict[str, Any], words: str) -> None:
    assert parse(**options).describe() == words


def entry(timing: Timing, last: datetime) -> Any:
    app = beat_app(Settings())
    schedule = timing.to_celery(app)
    return RedBeatSchedulerEntry(
        name="x", task="t", schedule=schedule, last_run_at=last, app=app, enabled=True
    )


@pytest.mark.parametrize(
    ("timing", "planned"),
    [
        (Timing(every=90.0), datetime(2027, 3, 1, 9, 2, tzinfo=UTC)),
        (Timing(every=86400.0 * 366), datetime(2028, 3, 1, 9, 0, 30, tzinfo=UTC)),
        (Timing(every=1.5), datetime(2027, 3, 1, 9, 0, 31, 500_000, tzinfo=UTC)),
        (Timing(cron="* * * * *"), datetime(2027, 3, 1, 9, 1, tzinfo=UTC)),
        (Timing(cron="0 9 * * *"), datetime(2027, 3, 2, 9, 0, tzinfo=UTC)),
        (Timing(cron="0 0 29 2 *"), datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
        (
            Timing(at=datetime(2027, 3, 1, 9, 5, 7, tzinfo=UTC)),
            datetime(2027, 3, 1, 9, 5, 7, tzinfo=UTC),
        ),
    ],
)
def test_the_planned_instant_follows_from_the_last_run_alone(
    timing: Timing, planned: datetime
) -> None:
    """Not from the time at which a beat looks: these instants are long ago or far ahead."""
    instant = planned_instant(entry(timing, LAST))
    assert instant == planned
    assert instant.tzinfo is UTC


@given(st.floats(1, 86400), st.integers(1, 10))
def test_successive_runs_of_an_interval_have_ids_of_their_own(every: float, runs: int) -> None:
    instants = [LAST]
    for _ in range(runs):
        instants.append(planned_instant(entry(Timing(every=every), instants[-1])))
    assert len({occurrence("x", instant, make()).id for instant in instants}) == runs + 1


def test_an_occurrence_has_the_same_id_whoever_fires_it() -> None:
    template = make(id="template", labels={"a": "b"})
    one = occurrence("daily-report", LAST, template)
    other = occurrence("daily-report", LAST.astimezone(timezone(timedelta(hours=5))), template)
    assert one.id == other.id == "schedule:daily-report:20270301T090030Z"
    assert one.digest == template.digest
    assert one.created_at > template.created_at
    assert occurrence("x" * 64, LAST, template).id.endswith("Z")
