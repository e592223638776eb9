"""Cron expressions, and the instants at which they fire in a zone.

cronsim says which local times an expression means; which instants those are is decided here.
(Its own handling of zones loses the first half hour after Lord Howe's clock goes back, and
answers with an instant of the past when asked from within an hour that comes twice.)

Five fields: minute, hour, day of month, month, weekday. Days: ``L`` is the last one of the
month, ``LW`` the last one from Monday to Friday. Weekdays: 0 or 7 is Sunday, ``MON#2`` the
second Monday, ``FRIL`` the last Friday. Where day of month and weekday both are given, either
is enough, as in Debian's cron; both must fit if one of them begins with ``*``.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Final

from cronsim import CronSim, CronSimError

from notify.recurrence.zones import SECOND, first_instant, instants, overlap, to_local

MACROS: Final = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
_LONGEST: Final = 256
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LAST_NAMED: Final = re.compile(rf"\b({'|'.join(_WEEKDAYS)})L\b")
_NO_DAY: Final = "fires on no day that there is"
_ANY: Final = datetime(2024, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True, slots=True)
class Cron:
    """A valid expression, in capital letters with single spaces.

    Where the clock changes, it depends on the fields what happens:

    - every hour (``0 * * * *``, ``*/15 * * * *``): the clock is read at every real minute, so
      that nothing pauses and nothing is made up for;
    - fixed times (``30 2 * * *``, ``0 */6 * * *``): what is skipped fires once, at the first
      instant after; what comes twice fires the first time;
    - minutes with ``*`` within certain hours (``*/5 1-3 * * *``): both times that it comes, and
      what is skipped fires once, at the first instant after.
    """

    text: str
    times: str
    """The same with every hour that is meant written out."""
    hourly: bool
    repeats: bool

    def next(self, instant: datetime, where: tzinfo) -> datetime | None:
        """The first one after ``instant``, in UTC."""
        return _next(self, instant, where)

    def previous(self, instant: datetime, where: tzinfo) -> datetime | None:
        """The last one before ``instant``, in UTC."""
        return _previous(self, instant, where)

    def local_after(self, local: datetime) -> datetime | None:
        """The next local time that is meant, whether or not the clock shows it."""
        return next(_locals(self.times, local), None)

    @property
    def smallest_gap(self) -> float:
        """No two follow each other in fewer seconds than this, clock changes aside."""
        sim = CronSim(self.text, _ANY)
        times = [hour * 60 + minute for hour in sorted(sim.hours) for minute in sorted(sim.minutes)]
        following = [*times[1:], times[0] + 24 * 60]
        return 60.0 * min(b - a for a, b in zip(times, following, strict=True))

    @property
    def days(self) -> frozenset[int]:
        """The days of the month that are given as numbers."""
        return frozenset(day for day in CronSim(self.text, _ANY).days if day > 0)

    def describe(self) -> str:
        """In words, like "at 09:00 every day"."""
        words = CronSim(self.text, _ANY).explain()
        return words[:1].lower() + words[1:]


# Many schedules have the same expression, and are asked about the same instant.
@lru_cache(maxsize=8192)
def _next(rule: Cron, instant: datetime, where: tzinfo) -> datetime | None:
    found = []
    if rule.repeats:
        found.append(_next_shown(rule.times, instant, where))
    if not rule.hourly:
        found.append(_next_fixed(rule.times, instant, where))
    return min((each for each in found if each is not None), default=None)


@lru_cache(maxsize=8192)
def _previous(rule: Cron, instant: datetime, where: tzinfo) -> datetime | None:
    found = []
    if rule.repeats:
        found.append(_previous_shown(rule.times, instant, where))
    if not rule.hourly:
        found.append(_previous_fixed(rule.times, instant, where))
    return max((each for each in found if each is not None), default=None)


@lru_cache(maxsize=4096)
def cron(expression: str) -> Cron:
    """Raises ``ValueError`` that says what is wrong with the expression."""
    fields = _fields(expression)
    fields[4] = _LAST_NAMED.sub(lambda match: f"{_WEEKDAYS.index(match[1])}L", fields[4])
    text = " ".join(fields)
    try:
        sim = CronSim(text, _ANY)
    except CronSimError as error:
        raise ValueError(_problem(str(error), fields)) from None
    hourly = len(sim.hours) == 24
    times = " ".join([fields[0], ",".join(map(str, sorted(sim.hours))), *fields[2:]])
    made = Cron(text, times, hourly, repeats=hourly or fields[0].startswith("*"))
    if made.local_after(_ANY) is None:
        raise ValueError(_NO_DAY)
    return made


def _fields(expression: str) -> list[str]:
    if len(expression) > _LONGEST:
        raise ValueError(f"must have at most {_LONGEST} characters")
    text = " ".join(expression.upper().split())
    if text.startswith("@"):
        if text not in MACROS:
            raise ValueError(f"must be five fields, or one of {', '.join(MACROS).lower()}")
        text = MACROS[text]
    fields = text.split(" ")
    if len(fields) == 6:
        raise ValueError('must have five fields, not six; for seconds, say every = "10s"')
    if len(fields) != 5:
        raise ValueError("must have five fields: minute hour day month weekday")
    return fields


def _problem(said: str, fields: list[str]) -> str:
    """cronsim names the field, and calls a day that its months do not have a bad one."""
    place = ("minute", "hour", "day-of-month", "month", "day-of-week").index(said[4:])
    days = re.split("[-,/]", fields[2])
    if place == 2 and all(day.isdecimal() and 1 <= int(day) <= 31 for day in days):
        return f"{fields[2]!r} in the third field: {_NO_DAY} in those months"
    name = said[4:].replace("-of-", " of ")
    return f"{fields[place]!r} is no {name}"


def _locals(text: str, after: datetime, *, back: bool = False) -> Iterator[datetime]:
    """Local times that are meant, from the nearest on; none where the calendar ends."""
    # cronsim counts from whole seconds.
    start = after.replace(microsecond=0, fold=0)
    if back and after.microsecond:
        start += SECOND
    found = CronSim(text, start, reverse=back)
    with suppress(OverflowError, ValueError):
        yield from found


def _next_fixed(text: str, instant: datetime, where: tzinfo) -> datetime | None:
    # Later local times are never shown for the first time earlier: the first that fits is it.
    shown = (first_instant(m, where) for m in _locals(text, to_local(instant, where)))
    return next((each for each in shown if each > instant), None)


def _previous_fixed(text: str, instant: datetime, where: tzinfo) -> datetime | None:
    local = to_local(instant, where)
    twice = overlap(local, where)
    # The second time round, what comes later on the clock has been shown already.
    start = twice[1] if twice and local.fold else local
    shown = (first_instant(m, where) for m in _locals(text, start, back=True))
    return next((each for each in shown if each < instant), None)


def _next_shown(text: str, instant: datetime, where: tzinfo) -> datetime | None:
    local = to_local(instant, where)
    found = _earliest(_locals(text, local), lambda each: each > instant, where)
    twice = overlap(local, where)
    if twice is None or local.fold:
        return found
    again = _earliest(_locals(text, twice[0] - SECOND), lambda each: each > instant, where)
    return min(each for each in (found, again) if each is not None) if found or again else None


def _previous_shown(text: str, instant: datetime, where: tzinfo) -> datetime | None:
    local = to_local(instant, where)
    found = _latest(_locals(text, local, back=True), lambda each: each < instant, where)
    twice = overlap(local, where)
    if twice is None or not local.fold:
        return found
    before = _latest(_locals(text, twice[1], back=True), lambda each: each < instant, where)
    return max(each for each in (found, before) if each is not None) if found or before else None


def _earliest(
    meant: Iterator[datetime], fits: Callable[[datetime], bool], where: tzinfo
) -> datetime | None:
    shown = (min(filter(fits, instants(m, where)), default=None) for m in meant)
    return next((each for each in shown if each is not None), None)


def _latest(
    meant: Iterator[datetime], fits: Callable[[datetime], bool], where: tzinfo
) -> datetime | None:
    shown = (max(filter(fits, instants(m, where)), default=None) for m in meant)
    return next((each for each in shown if each is not None), None)
