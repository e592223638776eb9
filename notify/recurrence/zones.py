"""Local time in a zone, and the instants at which the clock shows it. Pure.

A local time is there once, not at all where the clock goes forward past it, or twice where it
goes back. All of it is told from ``zoneinfo``, by asking for both values of ``fold``.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

SECOND: Final = timedelta(seconds=1)
DAY: Final = timedelta(days=1)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(?:/[A-Za-z0-9_+-]{1,32}){0,2}")
# Whatever the machine is set to, or nothing at all.
_NO_PLACES: Final = frozenset({"localtime", "posixrules", "Factory"})


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The zone of that IANA name. Raises ``ValueError`` that says what is wrong."""
    if not _NAME.fullmatch(name) or name in _NO_PLACES:
        raise ValueError("must be an IANA name like Europe/Berlin")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"is not a known time zone{_meant(name)}") from None


def _meant(name: str) -> str:
    known = {each.casefold(): each for each in available_timezones()}
    towns = {each.rpartition("/")[2]: each for each in known}
    close = get_close_matches(name.casefold(), [*known, *towns], n=1, cutoff=0.75)
    return f"; is {known[towns.get(close[0], close[0])]} meant?" if close else ""


def to_local(instant: datetime, where: tzinfo) -> datetime:
    """What the clock shows, without a zone; ``fold`` is 1 the second time it shows it."""
    return instant.astimezone(where).replace(tzinfo=None)


def instants(local: datetime, where: tzinfo) -> tuple[datetime, ...]:
    """When the clock shows ``local``: never, once or twice, in UTC, earliest first."""
    early, late = _readings(local, where)
    if early == late:
        return (early,)
    return (early, late) if early < late else ()


def first_instant(local: datetime, where: tzinfo) -> datetime:
    """When the clock shows ``local`` for the first time, or skips it."""
    early, late = _readings(local, where)
    return early if early <= late else _change(late, early, where)


def last_instant(local: datetime, where: tzinfo) -> datetime:
    """When the clock shows ``local`` for the last time, or skips it."""
    early, late = _readings(local, where)
    return late if early <= late else _change(late, early, where)


def overlap(local: datetime, where: tzinfo) -> tuple[datetime, datetime] | None:
    """The local times that the clock shows twice, from and until, where ``local`` is of them."""
    early, late = _readings(local, where)
    if early >= late:
        return None
    change = _change(early, late, where)
    return to_local(change, where).replace(fold=0), to_local(change - SECOND, where) + SECOND


def gap(instant: datetime, where: tzinfo) -> tuple[datetime, datetime] | None:
    """The local times that the clock skips at ``instant``, from and until."""
    start = to_local(instant - SECOND, where).replace(fold=0) + SECOND
    end = to_local(instant, where).replace(fold=0)
    return (start, end) if start < end else None


def day_start(day: date, where: tzinfo) -> datetime:
    """The first instant of a day there."""
    return first_instant(datetime.combine(day, time()), where)


def _readings(local: datetime, where: tzinfo) -> tuple[datetime, datetime]:
    """By the offset before a change of the clock, and by the one after it."""
    early = local.replace(tzinfo=where, fold=0).astimezone(UTC)
    return early, local.replace(tzinfo=where, fold=1).astimezone(UTC)


def _change(low: datetime, high: datetime, where: tzinfo) -> datetime:
    """The one change of the clock after ``low``, until ``high``; in whole seconds."""
    before = low.astimezone(where).utcoffset()
    while high - low > SECOND:
        middle = low + (high - low) // 2 // SECOND * SECOND
        if middle.astimezone(where).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
