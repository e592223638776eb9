"""A recurrence from what a person wrote: in a file, as options, or as JSON."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final, TypeVar

from notify.config.types import parse_duration
from notify.errors import InvalidInput
from notify.recurrence.cron import cron
from notify.recurrence.quiet import Quiet
from notify.recurrence.value import DEFER, SKIP, Recurrence
from notify.recurrence.zones import DAY, SECOND, day_start, first_instant, gap, instants, zone

KEYS: Final[tuple[str, ...]] = (
    *("cron", "every", "at", "zone", "start", "end", "exclude", "quiet", "quiet_policy"),
)
_KINDS: Final = ("cron", "every", "at")
_INSTANTS: Final = ("at", "start", "end")
_YEAR: Final = 366 * 86400
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}")
_MOST_DATES: Final = 1000
# Beyond these, a local time somewhere would be none that a calendar has.
_FIRST, _LAST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_YEARS: Final = "must be between the years 1000 and 9000"
_INSTANT: Final = "must be a date and time like 2027-03-01T09:00:00+01:00"
_Value = TypeVar("_Value")


def parse_recurrence(values: Mapping[str, Any], *, now: datetime | None = None) -> Recurrence:
    """Reads a recurrence and refuses what would never fire. ``now`` is for tests.

    Keys are the fields of ``Recurrence``; ``every`` is a number of seconds or text like "15m".
    ``at``, ``start`` and ``end`` have a UTC offset, or are times on the clock of ``zone``,
    which then has to be given; ``start`` and ``end`` may be days there, the last one included.

    Raises ``InvalidInput`` with a line for each problem, which names the key.
    """
    return Reader(values).read(datetime.now(UTC) if now is None else now)


class Reader:
    """Reads key by key and remembers what was wrong."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping):
            raise InvalidInput("recurrence: must be an object")
        self.values = {key: value for key, value in values.items() if value is not None}
        self.problems: list[str] = []
        self.where: tzinfo = UTC

    def read(self, now: datetime) -> Recurrence:
        """Raises ``InvalidInput``."""
        made = self._made()
        if made is not None and not self.problems:
            self._check(made, now)
        if made is None or self.problems:
            raise InvalidInput("\n".join(self.problems))
        return made

    def _made(self) -> Recurrence | None:
        self._check_keys()
        self.where = self._read("zone", _zone) or UTC
        policy = self._read("quiet_policy", _policy) or DEFER
        fields: dict[str, Any] = {
            "cron": self._read("cron", _cron),
            "every": self._read("every", _every),
            "at": self._read("at", self._instant),
            "start": self._read("start", self._start),
            "end": self._read("end", self._end),
            "exclude": self._read("exclude", _dates) or frozenset(),
            "quiet": self._read("quiet", Quiet.parse) or Quiet(),
        }
        if self.problems:
            return None
        return Recurrence(zone=self.values.get("zone", "UTC"), quiet_policy=policy, **fields)

    def _check_keys(self) -> None:
        for key in self.values.keys() - set(KEYS):
            self.problems.append(f"{shown_key(key)}: unknown key; known: {', '.join(KEYS)}")
        given = [kind for kind in _KINDS if kind in self.values]
        if len(given) != 1:
            self.problems.append("cron, every, at: exactly one of them must be given")
        if given == ["at"]:
            for key in ("start", "end", "exclude"):
                if key in self.values:
                    self.problems.append(f"{key}: has no meaning with at, which fires once")
        if "quiet_policy" in self.values and "quiet" not in self.values:
            self.problems.append("quiet_policy: needs quiet hours")

    def _read(self, key: str, read: Callable[[Any], _Value]) -> _Value | None:
        if key not in self.values:
            return None
        try:
            return read(self.values[key])
        except ValueError as error:
            self.problems.append(f"{key}: {error}")
        except OverflowError:
            self.problems.append(f"{key}: {_YEARS if key in _INSTANTS else 'is too large'}")
        return None

    def _instant(self, value: Any) -> datetime:
        return _within(self._resolved(_datetime(value)))

    def _start(self, value: Any) -> datetime:
        day = _day(value)
        return self._whole(value) if day is None else _within(day_start(day, self._dated()))

    def _end(self, value: Any) -> datetime:
        day = _day(value)
        if day is None:
            return self._whole(value)
        return _within(day_start(day + DAY, self._dated()) - SECOND)

    def _whole(self, value: Any) -> datetime:
        instant = self._instant(value)
        if instant.microsecond:
            raise ValueError("must be a whole second")
        return instant

    def _dated(self) -> tzinfo:
        """Where a day or a time without an offset is."""
        if "zone" not in self.values:
            raise ValueError("has no UTC offset, so zone must be given: like Europe/Berlin, or UTC")
        return self.where

    def _resolved(self, given: datetime) -> datetime:
        if given.utcoffset() is not None:
            return given.astimezone(UTC)
        where = self._dated()
        found = instants(given, where)
        if len(found) == 1:
            return found[0]
        name = self.values["zone"]
        if not found:
            _, after = gap(first_instant(given, where), where) or (given, given)
            raise ValueError(
                f"does not exist in {name}, where the clock goes forward to {after:%H:%M}"
            )
        offsets = " or ".join(f"{each.astimezone(where):%H:%M:%S%z}" for each in found)
        raise ValueError(f"happens twice in {name}; say which by an offset: {offsets}")

    def _check(self, made: Recurrence, now: datetime) -> None:
        if made.start and made.end and made.end < made.start:
            self.problems.append("end: is before start")
        elif made.end and made.end <= now:
            self.problems.append("end: is in the past")
        elif made.at and made.at <= now:
            self.problems.append("at: is in the past")
        elif made.next_after(now) is None:
            self.problems.append(f"{self._culprit(made, now)}: leaves nothing that would ever fire")

    def _culprit(self, made: Recurrence, now: datetime) -> str:
        raw = made.raw_after(now)
        if raw is None:
            return "end"
        given = [key for key in ("quiet", "exclude", "end") if key in self.values]
        return ", ".join(given)


def shown_key(key: Any) -> str:
    """A key as an error may name it: where it can be nothing but a name."""
    return key if isinstance(key, str) and _KEY.fullmatch(key) else "(of another name)"


def _within(instant: datetime) -> datetime:
    if not _FIRST <= instant <= _LAST:
        raise ValueError(_YEARS)
    return instant


def _zone(value: Any) -> tzinfo:
    if not isinstance(value, str):
        raise ValueError("must be an IANA name like Europe/Berlin")
    return zone(value)


def _policy(value: Any) -> str:
    if value not in (DEFER, SKIP):
        raise ValueError(f"must be {DEFER} or {SKIP}")
    return str(value)


def _cron(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text with five fields: minute hour day month weekday")
    cron(value)
    return " ".join(value.split())


def _every(value: Any) -> int:
    seconds = parse_duration(value)
    if not 1 <= seconds <= _YEAR:
        raise ValueError("must be at least one second and at most a year")
    if seconds != int(seconds):
        raise ValueError("must be whole seconds")
    return int(seconds)


def _datetime(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        # A day alone is no instant, and Python would take its midnight.
        return datetime.fromisoformat(value if _day(value) is None else "")
    except (TypeError, ValueError):
        raise ValueError(_INSTANT) from None


def _day(value: Any) -> date | None:
    if isinstance(value, date):
        return None if isinstance(value, datetime) else value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _dates(value: Any) -> frozenset[date]:
    if not isinstance(value, list | tuple | set | frozenset) or len(value) > _MOST_DATES:
        raise ValueError(f"must be a list of at most {_MOST_DATES} dates like 2027-12-24")
    days = [_day(each) for each in value]
    wrong = next((number for number, day in enumerate(days) if day is None), None)
    if wrong is not None:
        raise ValueError(f"number {wrong + 1} must be a date like 2027-12-24")
    return frozenset(day for day in days if day is not None)
