"""Quiet hours: spans of local time, every day or on certain weekdays. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final

from notify.recurrence.zones import DAY, SECOND, first_instant, last_instant, to_local

WEEKDAYS: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_ALL: Final = frozenset(range(7))
_MINUTES: Final = 24 * 60
_TIME: Final = r"([01]?[0-9]|2[0-4]):([0-5][0-9])"
_SPAN: Final = re.compile(rf"(?:([A-Z, -]+?) +)?{_TIME} ?[-–] ?{_TIME}")
_FORM: Final = 'must be like "22:00-07:00" or "SAT,SUN 00:00-24:00"'
_MOST_SPANS: Final = 20


@dataclass(frozen=True, slots=True)
class Span:
    """From a minute of the day until another; on the next day, where that is not later.

    ``days`` are those on which it begins, Monday being 0.
    """

    start: int
    end: int
    days: frozenset[int] = _ALL

    @property
    def length(self) -> timedelta:
        return timedelta(minutes=self.end - self.start + (_MINUTES if self._wraps else 0))

    @property
    def _wraps(self) -> bool:
        return self.end <= self.start

    def around(self, local: datetime) -> tuple[datetime, datetime] | None:
        """Local start and end of the one that ``local`` is in."""
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        for day in (midnight, midnight - DAY):
            start = day + timedelta(minutes=self.start)
            if day.weekday() in self.days and start <= local.replace(fold=0) < start + self.length:
                return start, start + self.length
        return None

    def minutes(self) -> Iterator[int]:
        """Those of the week that it covers."""
        length = int(self.length.total_seconds()) // 60
        for day in self.days:
            first = day * _MINUTES + self.start
            yield from (minute % (7 * _MINUTES) for minute in range(first, first + length))

    def __str__(self) -> str:
        days = ",".join(WEEKDAYS[day] for day in sorted(self.days))
        times = f"{_clock(self.start)}-{_clock(self.end)}"
        return times if self.days == _ALL else f"{days} {times}"


@dataclass(frozen=True, slots=True)
class Quiet:
    """Spans that may overlap; false without any. The clock on the wall decides."""

    spans: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans)

    def end(self, instant: datetime, where: tzinfo) -> datetime | None:
        """When the quiet that ``instant`` is in is over; None where it is in none."""
        found = None
        # Spans may follow one another for up to a week.
        for _ in range(8 * _MOST_SPANS):
            around = self._around(found or instant, where)
            if not around:
                return found
            found = max(last_instant(end, where) for _, end in around)
        return found

    def start(self, instant: datetime, where: tzinfo) -> datetime | None:
        """When the quiet that ``instant`` is in began."""
        found = None
        for _ in range(8 * _MOST_SPANS):
            around = self._around(instant if found is None else found - SECOND, where)
            if not around:
                return found
            found = min(first_instant(start, where) for start, _ in around)
        return found

    def _around(self, instant: datetime, where: tzinfo) -> list[tuple[datetime, datetime]]:
        local = to_local(instant, where)
        if 60 * (24 * local.weekday() + local.hour) + local.minute not in _covered(self.spans):
            return []
        return [found for span in self.spans if (found := span.around(local)) is not None]

    def to_list(self) -> list[str]:
        return [str(span) for span in self.spans]

    @classmethod
    def parse(cls, values: Any) -> "Quiet":
        """Reads one text or a list of them. Raises ``ValueError``."""
        texts = [values] if isinstance(values, str) else values
        if not isinstance(texts, list | tuple) or len(texts) > _MOST_SPANS:
            raise ValueError(f"{_FORM}, or a list of at most {_MOST_SPANS} of these")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(_FORM)
        return _quiet(tuple(texts))


@lru_cache(maxsize=1024)
def _quiet(texts: tuple[str, ...]) -> Quiet:
    spans = tuple(map(_span, texts))
    if len(_covered(spans)) == 7 * _MINUTES:
        raise ValueError("leaves no time of the week in which anything could be sent")
    return Quiet(spans)


@lru_cache(maxsize=1024)
def _covered(spans: tuple[Span, ...]) -> frozenset[int]:
    """Minutes of the week."""
    return frozenset(minute for span in spans for minute in span.minutes())


def _span(text: str) -> Span:
    match = _SPAN.fullmatch(text.strip().upper())
    if match is None:
        raise ValueError(_FORM)
    days, *times = match.groups()
    start, end = (60 * int(hour) + int(minute) for hour, minute in (times[:2], times[2:]))
    if start >= _MINUTES or end > _MINUTES or start == end:
        raise ValueError(_FORM)
    return Span(start, end, _ALL if days is None else _days(days))


def _days(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in WEEKDAYS or (last or first) not in WEEKDAYS:
            raise ValueError(f"{_FORM}; weekdays are {', '.join(WEEKDAYS)}")
        start, end = WEEKDAYS.index(first), WEEKDAYS.index(last or first)
        found |= {day % 7 for day in range(start, end + 1 if end >= start else end + 8)}
    return frozenset(found)


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
