"""When something recurs, as one frozen value. Pure: no clock is read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property
from itertools import islice
from typing import Any, Final, Self

from notify.errors import InvalidInput
from notify.recurrence.cron import Cron, cron
from notify.recurrence.quiet import Quiet
from notify.recurrence.zones import DAY, day_start, to_local, zone

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DEFER: Final = "defer"
SKIP: Final = "skip"
_UNITS: Final = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_TICK: Final = timedelta(microseconds=1)
# Days that are closed may follow one another; a rule that meets nothing else is given up.
_MOST_CLOSED: Final = 2000


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """Exactly one of ``cron``, ``every`` so many seconds, and ``at`` an instant.

    Made by ``parse_recurrence``, which checks everything; instants are in UTC. Nothing is
    planned before ``start``, after ``end``, or on the dates to ``exclude``. Cron expressions,
    dates and quiet hours are in ``zone``. ``every`` counts real seconds from ``start``, or from
    1970-01-01T00:00Z: never from when it was stored or last fired, so that nothing drifts.

    What is planned within ``quiet`` hours is either not planned at all (``quiet_policy``
    "skip") or due when they are over ("defer"), and is still the firing of its planned instant.
    """

    cron: str | None = None
    every: int | None = None
    at: datetime | None = None
    zone: str = "UTC"
    start: datetime | None = None
    end: datetime | None = None
    exclude: frozenset[date] = frozenset()
    quiet: Quiet = field(default_factory=Quiet)
    quiet_policy: str = DEFER

    @cached_property
    def where(self) -> tzinfo:
        return zone(self.zone)

    @cached_property
    def rule(self) -> Cron | None:
        """The cron expression, understood."""
        return None if self.cron is None else cron(self.cron)

    @property
    def smallest_gap(self) -> float | None:
        """Seconds between two planned instants at least; None where there is only one."""
        return self.rule.smallest_gap if self.rule is not None else self.every

    def next_after(self, instant: datetime) -> datetime | None:
        """The first planned instant after this one, in UTC; None where nothing follows."""
        last = self._not_before(instant)
        for _ in range(_MOST_CLOSED):
            found = self.raw_after(last)
            if found is None:
                return None
            opens = self.closed_until(found)
            if opens is None:
                return found
            last = opens - _TICK
        return None

    def last_before(self, instant: datetime) -> datetime | None:
        """The last planned instant before this one, in UTC; None where nothing precedes."""
        bound = instant if self.end is None else min(instant, self.end + _TICK)
        for _ in range(_MOST_CLOSED):
            found = self._raw_before(bound)
            if found is None or (self.start is not None and found < self.start):
                return None
            closed = self._closed_since(found)
            if closed is None:
                return found
            bound = closed
        return None

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """What is planned after the one and until the other."""
        found = self.next_after(after)
        while found is not None and found <= until:
            yield found
            found = self.next_after(found)

    def count(self, after: datetime, until: datetime, limit: int) -> tuple[int, bool]:
        """How many that are, and whether this is all of them; counted one by one to ``limit``."""
        if self.every is not None and not self.exclude and not self._skips:
            return self._arithmetic(after, until), True
        counted = sum(1 for _ in islice(self.between(after, until), limit + 1))
        return min(counted, limit), counted <= limit

    def quiet_end(self, instant: datetime) -> datetime | None:
        """When the quiet hours that ``instant`` is in are over; None outside of any."""
        return self.quiet.end(instant, self.where) if self.quiet else None

    def quiet_start(self, instant: datetime) -> datetime | None:
        """When the quiet hours that ``instant`` is in began."""
        return self.quiet.start(instant, self.where) if self.quiet else None

    def earliest(self, planned: datetime) -> datetime:
        """When what is planned may be sent at the earliest."""
        return self.quiet_end(planned) or planned

    def due(self, planned: datetime, delay: float = 0.0) -> datetime:
        """When it is sent: ``delay`` seconds after the earliest, which is never overtaken by
        what is planned later if the delay is a function of ``earliest``.

        A delay ends where the next is planned, and one that would lead into quiet hours is
        dropped.
        """
        earliest = self.earliest(planned)
        if not delay:
            return earliest
        later = earliest + timedelta(seconds=delay)
        following = self.next_after(earliest)
        if following is not None and following < later:
            later = following
        return earliest if self.quiet_end(later) else later

    def raw_after(self, instant: datetime) -> datetime | None:
        """The same as ``next_after`` without regard to what is closed."""
        found = self._rule_after(self._not_before(instant))
        return None if found is None or (self.end is not None and found > self.end) else found

    def closed_until(self, instant: datetime) -> datetime | None:
        """When the excluded day or the skipped quiet hours it is in are over."""
        day = to_local(instant, self.where).date()
        if day in self.exclude:
            return day_start(day + DAY, self.where)
        return self.quiet_end(instant) if self._skips else None

    def to_dict(self) -> dict[str, Any]:
        """What ``from_dict`` reads: JSON values; what is not given is left out."""
        values: dict[str, Any] = {"cron": self.cron, "every": self.every}
        for name in ("at", "start", "end"):
            instant = getattr(self, name)
            values[name] = None if instant is None else instant.isoformat()
        values["zone"] = None if self.zone == "UTC" else self.zone
        values["exclude"] = sorted(day.isoformat() for day in self.exclude) or None
        values["quiet"] = self.quiet.to_list() or None
        values["quiet_policy"] = self.quiet_policy if self.quiet else None
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Reads a stored one, which was checked when it was parsed, and may be over by now.

        Raises ``InvalidInput`` for what ``to_dict`` does not write.
        """
        try:
            return cls(**_stored(values))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"recurrence: cannot be read: {type(error).__name__}") from error

    def describe(self) -> str:
        """In words, like "at 09:00 every day, in Europe/Berlin"."""
        return ", ".join(self._parts())

    def remarks(self) -> tuple[str, ...]:
        """What somebody may not expect of it."""
        days = frozenset[int]() if self.rule is None else self.rule.days
        missing = sorted(day for day in days if day > 28)
        if not missing or len(days) > 28:
            return ()
        shown = ", ".join(map(str, missing))
        return (f"months without day {shown} are skipped; L is the last day of every month",)

    def _parts(self) -> Iterator[str]:
        yield self._when()
        if self.every is None or self.exclude or self.quiet:
            yield f"in {self.zone}"
        if self.start is not None:
            yield f"from {self._local(self.start)}"
        if self.end is not None:
            yield f"until {self._local(self.end)}"
        if self.exclude:
            yield f"not on {_plural(len(self.exclude), 'date')}"
        if self.quiet:
            what = "deferred" if self.quiet_policy == DEFER else "skipped"
            yield f"{what} in quiet hours ({', '.join(self.quiet.to_list())})"

    def _when(self) -> str:
        if self.at is not None:
            return f"once at {self._local(self.at)}"
        if self.rule is not None:
            return self.rule.describe()
        seconds = self.every or 1
        size, unit = next(each for each in _UNITS if seconds % each[0] == 0)
        return f"every {_plural(seconds // size, unit)}"

    def _local(self, instant: datetime) -> str:
        return instant.astimezone(self.where).isoformat(sep=" ")

    @property
    def _skips(self) -> bool:
        return bool(self.quiet) and self.quiet_policy == SKIP

    def _not_before(self, instant: datetime) -> datetime:
        last = instant.astimezone(UTC)
        return last if self.start is None else max(last, self.start - _TICK)

    def _rule_after(self, instant: datetime) -> datetime | None:
        if self.at is not None:
            return self.at if self.at > instant else None
        try:
            if self.rule is not None:
                return self.rule.next(instant, self.where)
            return self._anchor + ((instant - self._anchor) // self._step + 1) * self._step
        except OverflowError:
            return None

    def _raw_before(self, instant: datetime) -> datetime | None:
        if self.at is not None:
            return self.at if self.at < instant else None
        try:
            if self.rule is not None:
                return self.rule.previous(instant, self.where)
            return self._anchor - ((self._anchor - instant) // self._step + 1) * self._step
        except OverflowError:
            return None

    def _closed_since(self, instant: datetime) -> datetime | None:
        day = to_local(instant, self.where).date()
        if day in self.exclude:
            return day_start(day, self.where)
        return self.quiet_start(instant) if self._skips else None

    @property
    def _anchor(self) -> datetime:
        return EPOCH if self.start is None else self.start

    @property
    def _step(self) -> timedelta:
        return timedelta(seconds=self.every or 1)

    def _arithmetic(self, after: datetime, until: datetime) -> int:
        last = until if self.end is None else min(until, self.end)
        first = self._not_before(after)
        return max(0, (last - self._anchor) // self._step - (first - self._anchor) // self._step)


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(values)
    for name in {"at", "start", "end"} & given.keys():
        given[name] = datetime.fromisoformat(given[name]).astimezone(UTC)
    if "exclude" in given:
        given["exclude"] = frozenset(map(date.fromisoformat, given["exclude"]))
    if "quiet" in given:
        given["quiet"] = Quiet.parse(given["quiet"])
    if "cron" in given:
        cron(given["cron"])
    zone(given.get("zone", "UTC"))
    if sum(given.get(kind) is not None for kind in ("cron", "every", "at")) != 1:
        raise ValueError("not exactly one kind")
    every = given.get("every", 1)
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError("no number of seconds")
    if given.get("quiet_policy", DEFER) not in (DEFER, SKIP):
        raise ValueError("no policy")
    return given


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
