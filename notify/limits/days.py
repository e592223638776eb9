"""Where the days of a time zone begin."""

from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from notify.limits.connection import micros


def day_starts(zone: str, now: float) -> tuple[int, ...]:
    """When today, tomorrow and the day after begin in ``zone``, in microseconds.

    ``now`` (epoch seconds) may be wrong by a day: the script that gets these picks the next
    one by the Redis server's clock.
    """
    return _around(zone, datetime.fromtimestamp(now, ZoneInfo(zone)).date())


@lru_cache(maxsize=64)
def _around(zone: str, today: date) -> tuple[int, ...]:
    return tuple(_start(zone, today + timedelta(days=n)) for n in (0, 1, 2))


def _start(zone: str, day: date) -> int:
    # Where clocks skip midnight, this is the moment of the change; where midnight comes
    # twice, the first of them (PEP 495, fold=0).
    return micros(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp())
