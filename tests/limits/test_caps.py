"""How many at once, and how many a day."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from notify.limits import Denied
from tests.limits.desk import Desk, limited

pytestmark = pytest.mark.redis


def test_normal_ones_leave_the_share_of_the_urgent_ones_free(desk: Desk) -> None:
    desk.settings = limited(concurrency=10, urgent_share=0.2)
    normal = desk.all_at_once()
    assert len(normal) == 8
    urgent = desk.all_at_once(urgent=True)
    assert len(urgent) == 2
    for is_urgent in (False, True):
        assert desk.denied(urgent=is_urgent) == Denied(why="concurrency", wait=0.175)
    assert desk.state.in_flight == 10
    desk.release(normal[0])
    desk.release(normal[0])
    assert len(desk.all_at_once(urgent=True)) == 1
    assert desk.denied().why == "concurrency"
    desk.release(urgent[0])
    assert len(desk.all_at_once()) == 1


def test_urgent_ones_may_use_all(desk: Desk) -> None:
    desk.settings = limited(concurrency=10)
    assert len(desk.all_at_once(urgent=True)) == 10
    assert desk.denied().why == "concurrency"


def test_what_a_dead_worker_held_is_free_when_its_lease_ends(desk: Desk) -> None:
    desk.settings = limited(concurrency=1, urgent_share=0, rate="1/s")
    desk.granted(2, lease=60)
    desk.clock.pass_(59.5)
    assert desk.denied().why == "concurrency"
    assert desk.state.in_flight == 1
    desk.clock.pass_(0.5)
    assert desk.state.in_flight == 0
    # The lease begins with the slot.
    desk.granted(5, lease=60)
    desk.settings = desk.settings.model_copy(update={"concurrency": 2})
    desk.clock.pass_(4.75)
    assert desk.granted(lease=60).wait == 0.25
    desk.clock.pass_(60.125)
    assert desk.state.in_flight == 1


def test_the_key_lives_as_long_as_the_longest_lease(desk: Desk) -> None:
    desk.settings = limited(concurrency=10)
    desk.granted(lease=600)
    desk.granted(lease=1)
    assert desk.raw.pttl(f"{desk.prefix}:a:sms:texts:normal") > 590_000


def test_nothing_is_taken_unless_all_is_granted(desk: Desk) -> None:
    full = limited(rate="1/s", concurrency=10, daily=10, urgent_share=0)
    desk.settings = full
    desk.granted()
    before = desk.dump()
    assert desk.denied().why == "rate"
    desk.settings = full.model_copy(update={"concurrency": 1})
    assert desk.denied().why == "concurrency"
    desk.settings = full.model_copy(update={"daily": 1})
    assert desk.denied().why == "daily"
    after = desk.dump()
    # It is remembered when the next one who is denied shall come back.
    pace = after[f"{desk.prefix}:a:sms:texts:pace"]
    assert isinstance(pace, dict)
    del pace["turn"]
    assert after == before


def test_the_day_counts_cost_and_keeps_the_urgent_share(desk: Desk) -> None:
    desk.settings = limited(daily=100, urgent_share=0.1)
    desk.granted(60)
    desk.granted(30)
    assert desk.denied().why == "daily"
    desk.granted(6, urgent=True)
    assert desk.denied(5, urgent=True).why == "daily"
    desk.granted(4, urgent=True)
    assert desk.denied(urgent=True).why == "daily"
    assert desk.state.daily_used == 100


def test_urgent_ones_may_use_the_whole_day(desk: Desk) -> None:
    desk.settings = limited(daily=10)
    assert len(desk.all_at_once(urgent=True)) == 10
    assert desk.denied().why == "daily"


def test_what_was_not_used_is_given_back_to_its_day(desk: Desk) -> None:
    desk.settings = limited(daily=10, urgent_share=0)
    unused, used = desk.granted(4), desk.granted(6)
    desk.release(used, unused=False)
    assert desk.denied().why == "daily"
    desk.release(unused, unused=True)
    assert desk.state.daily_used == 6
    late = desk.granted(4)
    desk.clock.pass_(86400)
    desk.granted(1)
    desk.release(late, unused=True)
    assert desk.state.daily_used == 1


# zone, the day before, the day itself, how many hours it has
DAYS = [
    ("UTC", (2027, 3, 1), 24),
    ("Pacific/Auckland", (2027, 1, 15), 24),
    # Daylight saving ends and begins.
    ("Pacific/Auckland", (2027, 4, 4), 25),
    ("Pacific/Auckland", (2027, 9, 26), 23),
    ("Europe/Berlin", (2027, 3, 28), 23),
    ("Europe/Berlin", (2027, 10, 31), 25),
    # The clocks go from midnight to 1:00, and from midnight to 23:00.
    ("America/Santiago", (2026, 9, 6), 23),
    ("America/Santiago", (2027, 4, 3), 25),
    # Midnight comes twice.
    ("America/Havana", (2026, 11, 1), 25),
    # Half an hour.
    ("Australia/Lord_Howe", (2026, 10, 4), 23.5),
]


@pytest.mark.parametrize(("zone", "day", "hours"), DAYS)
def test_a_day_begins_at_its_midnight_and_ends_at_the_next(
    zone: str, day: tuple[int, int, int], hours: float, desk: Desk
) -> None:
    desk.settings = limited(daily=2, daily_zone=zone, urgent_share=0)
    midnight = datetime(*day, tzinfo=ZoneInfo(zone)).timestamp()
    desk.clock.now = midnight - 0.25
    assert len(desk.all_at_once()) == 2
    assert desk.denied() == Denied(why="daily", wait=0.25)
    desk.clock.pass_(0.25)
    assert desk.state.daily_used == 0
    assert len(desk.all_at_once()) == 2
    assert desk.denied() == Denied(why="daily", wait=hours * 3600)
    desk.clock.pass_(hours * 3600 - 0.25)
    assert desk.denied() == Denied(why="daily", wait=0.25)
    desk.clock.pass_(0.25)
    assert len(desk.all_at_once()) == 2


@pytest.mark.parametrize("wrong", [-20 * 3600, 0, 20 * 3600])
def test_the_day_is_by_redis_s_clock(wrong: float, desk: Desk) -> None:
    """A worker whose own clock is wrong by most of a day counts the same day."""
    zone = ZoneInfo("Pacific/Auckland")
    midnight = datetime(2027, 4, 5, tzinfo=zone).timestamp()
    desk.settings = limited(daily=1, daily_zone=zone.key, urgent_share=0)
    desk.limits._clock = lambda: midnight - 10 + wrong
    desk.clock.now = midnight - 10
    desk.granted()
    assert desk.denied() == Denied(why="daily", wait=10)
