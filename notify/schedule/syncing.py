"""Makes Redis say of schedules what the database says, whatever Redis says now.

Each schedule is compared and put right on its own, as often as one likes: whoever writes to the
database does it for what was written, and the leading beat for whatever is different.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from notify.errors import InvalidInput, NotFound
from notify.schedule.book import Book
from notify.schedule.instants import from_micros
from notify.schedule.rowing import from_row
from notify.schedule.shelf import PAUSED, Written
from notify.schedule.spec import ScheduleSpec
from notify.schedule.stored import Put
from notify.store.schedulerows import StoredSchedule

MISSING: Final = "missing"
STALE: Final = "stale"
STATE: Final = "state"
BEHIND: Final = "behind"
REMOVED: Final = "removed"
OVER: Final = "over"
UNKNOWN: Final = "unknown"
PROBLEMS: Final = "problems"
# Of a million nobody reads all.
_NAMED: Final = 1000

Last = Callable[[Iterable[str]], dict[str, datetime]]
"""Up to which planned instant everything is over, by name."""
Told = Callable[[str], object]


@dataclass(kw_only=True, slots=True)
class Findings:
    """What was wrong in Redis: how many of each kind, the first names, and what could not be put
    right, and why.

    "missing" were not there, or nobody would ever have looked at them; "stale" were other than
    they should be; "state" paused or not; "behind" had not come as far as is known; "removed"
    should not be there. "over" are not there because nothing follows; of the "unknown" the
    database knows nothing, and they are left alone.
    """

    counts: Counter[str] = field(default_factory=Counter)
    names: dict[str, list[str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def note(self, kind: str, name: str) -> None:
        self.counts[kind] += 1
        named = self.names.setdefault(kind, [])
        if len(named) < _NAMED:
            named.append(name)

    def trouble(self, name: str, why: str) -> None:
        self.note(PROBLEMS, name)
        if len(self.problems) < _NAMED:
            self.problems[name] = why


def nobody(_: str) -> None:
    """Need not be told."""


class Syncing:
    """Adds to its ``findings`` with each call; with ``dry`` it changes nothing.

    ``over`` and ``unknown`` are told each name of these kinds.
    """

    def __init__(
        self,
        book: Book,
        last: Last,
        *,
        dry: bool = False,
        over: Told = nobody,
        unknown: Told = nobody,
    ) -> None:
        self._book = book
        self._last = last
        self._dry = dry
        self._over = over
        self._unknown = unknown
        self.findings = Findings()

    def sync(self, rows: Sequence[StoredSchedule]) -> None:
        """Compares each with what Redis has, and puts that right."""
        written = self._written([row.name for row in rows])
        last = self._last([row.name for row in rows if row.lives])
        puts: list[Put] = []
        for row in rows:
            found, over = written[row.name], last.get(row.name)
            if not row.lives:
                self._end(row, found)
            elif found is None:
                puts += self._absent(row, over)
            elif found.r != row.revision:
                self.findings.note(STALE, row.name)
                self._tried(row, self._replace)
            else:
                puts += self._adjusted(row, found, over)
        if puts and not self._dry:
            for name, why in self._book.put_many(puts).items():
                self.findings.trouble(name, why)

    def strangers(self, names: Sequence[str], rows: Iterable[StoredSchedule]) -> None:
        """Of the ``names`` in Redis the database has these ``rows``."""
        known = {row.name for row in rows}
        for name in names:
            if name not in known:
                self.findings.note(UNKNOWN, name)
                self._unknown(name)

    def _written(self, names: Sequence[str]) -> Mapping[str, Written | None]:
        """None also for what Redis has, and nobody will ever look at, or be able to read."""
        shelf = self._book.shelf
        found = dict(zip(names, shelf.read(names, scores=True), strict=True))
        lost = [name for name, each in found.items() if each is not None and each.score is None]
        aside = zip(lost, shelf.reasons(lost), strict=True)
        useless = {name: None for name, why in aside if why is None or not self._legible(name)}
        return found | useless

    def _legible(self, name: str) -> bool:
        """Of one in quarantine: otherwise what the database has is as good as new."""
        try:
            return self._book.get(name).spec is not None
        except NotFound:
            return False

    def _absent(self, row: StoredSchedule, over: datetime | None) -> list[Put]:
        """It goes on where the history ends: never before it was written or resumed."""
        spec = self._read(row)
        if spec is None:
            return []
        watermark = max(row.since, over or row.since)
        if spec.recurrence.next_after(watermark) is None:
            self.findings.note(OVER, row.name)
            self._over(row.name)
            return []
        self.findings.note(MISSING, row.name)
        return [Put(spec=spec, watermark=watermark)]

    def _adjusted(self, row: StoredSchedule, found: Written, over: datetime | None) -> list[Put]:
        """The same schedule: is it paused as it should be, and as far as is known?"""
        if found.score is not None and (found.score == PAUSED) != row.paused:
            self.findings.note(STATE, row.name)
            self._tried(row, self._rest)
        if over is None or not found.w or from_micros(found.w) >= over:
            return []
        self.findings.note(BEHIND, row.name)
        spec = self._read(row)
        if spec is None or spec.recurrence.next_after(over) is not None:
            return [] if spec is None else [Put(spec=spec, watermark=over)]
        # Nothing follows, and what is over is not stored.
        self._tried(row, lambda _: self._book.fired(row.name, over))
        return []

    def _end(self, row: StoredSchedule, found: Written | None) -> None:
        if found is not None:
            self.findings.note(REMOVED, row.name)
            self._tried(row, lambda _: self._book.remove(row.name))

    def _replace(self, row: StoredSchedule) -> None:
        self._book.put(from_row(row), replace=True, now=row.changed_at)

    def _rest(self, row: StoredSchedule) -> None:
        if row.paused:
            self._book.pause(row.name, now=row.changed_at)
        else:
            self._book.resume(row.name, now=row.since)

    def _read(self, row: StoredSchedule) -> ScheduleSpec | None:
        try:
            return from_row(row)
        except InvalidInput as error:
            self.findings.trouble(row.name, str(error))
            return None

    def _tried(self, row: StoredSchedule, act: Callable[[StoredSchedule], object]) -> None:
        if self._dry:
            return
        try:
            act(row)
        except NotFound:
            # Gone meanwhile: it has fired for the last time, or was removed.
            return
        except InvalidInput as error:
            self.findings.trouble(row.name, str(error))
