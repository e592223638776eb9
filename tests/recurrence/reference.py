"""Another implementation of what cron expressions mean, minute by minute and without cronsim.

Slow and simple: the clock of a zone is looked at in every minute, and what it shows is compared
with the fields.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

MINUTE: Final = timedelta(minutes=1)
SINCE: Final = datetime(2024, 1, 1, tzinfo=UTC)
UNTIL: Final = datetime(2031, 1, 1, tzinfo=UTC)
_MONTHS: Final = tuple("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split())  # noqa: SIM905
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True)
class Fields:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: str
    months: frozenset[int]
    weekdays: str
    starred_minutes: bool

    @classmethod
    def of(cls, text: str) -> "Fields":
        minute, hour, day, month, weekday = text.split()
        for number, name in enumerate(_MONTHS, 1):
            month = month.replace(name, str(number))
        for number, name in enumerate(_DAYS):
            weekday = weekday.replace(name, str(number))
        numbers = numbers_of(minute, 0, 59), numbers_of(hour, 0, 23)
        return cls(*numbers, day, numbers_of(month, 1, 12), weekday, minute[0] == "*")

    def on(self, day: date) -> bool:
        return day.month in self.months and _on(self.days, self.weekdays, day)

    def at(self, local: datetime) -> bool:
        in_hour = local.minute in self.minutes and local.hour in self.hours
        return in_hour and self.on(local.date())


def numbers_of(text: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        start, end = (low, high) if first == "*" else (int(first), int(last or first))
        if step and not last and first != "*":
            end = high
        found.update(range(start, end + 1, int(step or 1)))
    return frozenset(found)


@cache
def _on(days: str, weekdays: str, day: date) -> bool:
    either = not days.startswith("*") and not weekdays.startswith("*")
    fits = (_fits_day(days, day), _fits_weekday(weekdays, day))
    return any(fits) if either else all(fits)


def _fits_day(text: str, day: date) -> bool:
    length = calendar.monthrange(day.year, day.month)[1]
    working = [d for d in range(1, length + 1) if calendar.weekday(day.year, day.month, d) < 5]
    for part in text.split(","):
        if part == "L":
            found = day.day == length
        elif part == "LW":
            found = day.day == working[-1]
        else:
            found = day.day in numbers_of(part, 1, 31)
        if found:
            return True
    return False


def _fits_weekday(text: str, day: date) -> bool:
    number = (day.weekday() + 1) % 7
    for part in text.split(","):
        if part.endswith("L"):
            last = (day + timedelta(days=7)).month != day.month
            found = last and int(part[:-1]) % 7 == number
        elif "#" in part:
            wanted, nth = part.split("#")
            found = int(wanted) % 7 == number and (day.day + 6) // 7 == int(nth)
        else:
            found = number in {each % 7 for each in numbers_of(part, 0, 7)}
        if found:
            return True
    return False


Clock = list[tuple[datetime, datetime]]


def clock(where: ZoneInfo, start: datetime, end: datetime) -> Clock:
    """What the clock shows in each minute from ``start``, which is one, until ``end``."""
    shown = []
    while start < end:
        shown.append((start, start.astimezone(where).replace(tzinfo=None)))
        start += MINUTE
    return shown


def firings(text: str, shown: Clock) -> list[datetime]:
    """Those within the minutes but for the first, which only tells what the clock showed before."""
    fields = Fields.of(text)
    hourly = len(fields.hours) == 24
    both = hourly or fields.starred_minutes
    found = []
    before = shown[0][1]
    for instant, local in shown[1:]:
        fits = fields.at(local) and (both or not local.fold)
        if not hourly:
            fits = fits or any(fields.at(each) for each in _between(before, local))
        if fits:
            found.append(instant)
        before = local
    return found


def _between(before: datetime, after: datetime) -> Iterator[datetime]:
    """The minutes that the clock skips."""
    before = before.replace(fold=0) + MINUTE
    while before < after.replace(fold=0):
        yield before
        before += MINUTE


@cache
def changes(name: str) -> tuple[datetime, ...]:
    """When the clock of that zone is changed, from 2024 to 2030; by the minute."""
    where = ZoneInfo(name)
    found = []
    day, step = SINCE, timedelta(days=1)
    offset = day.astimezone(where).utcoffset()
    while day < UNTIL:
        following = day + step
        if (new := following.astimezone(where).utcoffset()) != offset:
            found.append(_minute(where, day, following))
        day, offset = following, new
    return tuple(found)


def _minute(where: ZoneInfo, low: datetime, high: datetime) -> datetime:
    before = low.astimezone(where).utcoffset()
    return next(
        instant
        for instant in (low + n * MINUTE for n in range((high - low) // MINUTE + 1))
        if instant.astimezone(where).utcoffset() != before
    )


@cache
def zones() -> tuple[str, ...]:
    """One of each set of zones whose clocks are changed alike, in a fixed order."""
    alike: dict[tuple[object, ...], str] = {}
    for name in sorted(available_timezones()):
        found = changes(name)
        if found:
            offsets = [each.astimezone(ZoneInfo(name)).utcoffset() for each in (SINCE, *found)]
            alike.setdefault((found, tuple(offsets)), name)
    return tuple(alike.values())
