"""Notices that Redis has lost schedules, or brought old ones back, and restores them.

The leading beat looks when it begins to lead, before it fires anything, and every minute. Mostly
that is a few numbers to compare; what changed since the last look is compared one by one, and
everything only when the numbers say that Redis is not what it was.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from notify.schedule.marker import Mark, Marker
from notify.schedule.syncing import Findings, Syncing, nobody
from notify.schedule.truth import Truth
from notify.store.schedulerows import StoredSchedule, Wanted
from notify.store.schedules import LAST, Schedules
from notify.telemetry import event

log = logging.getLogger(__name__)

_PAGE: Final = 500
_SAID: Final = 5
# With each look so many are compared although nothing says that they differ.
_SWEEP: Final = 2000
# What fired so recently is compared when a beat begins to lead.
_RECENT: Final = timedelta(minutes=10)
_PURGE_EVERY: Final = timedelta(hours=1)
# Tombstones outlive every copy of Redis that somebody might bring back.
_TOMBSTONES: Final = timedelta(days=400)

EMPTIED: Final = "Redis was emptied"
OLDER: Final = "Redis is older than it was"
FOREIGN: Final = "Redis has the schedules of another database"
COUNTS: Final = "Redis has another number of schedules"


@dataclass(kw_only=True, slots=True)
class Report:
    """What a look found, and put right. ``why`` says why all were compared, if they were.

    ``foreign``: nothing was done, because Redis has the schedules of another database.
    """

    why: str = ""
    foreign: bool = False
    compared: int = 0
    findings: Findings = field(default_factory=Findings)


class Reconciler:
    """``alive`` is called now and then while it takes long."""

    def __init__(
        self,
        truth: Truth,
        *,
        history: float,
        alive: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._truth = truth
        self._keep = timedelta(seconds=history)
        self._alive = alive
        self._clock = clock
        self._marker = Marker(truth.book.shelf)
        self._swept = ""
        self._differed: tuple[int, int] | None = None
        self._known: tuple[int, int] | None = None
        self._purged: datetime | None = None

    def look(self, *, beginning: bool = False) -> Report:
        """``beginning``: before the first firing of a beat that begins to lead.

        Raises ``StoreUnavailable`` and ``LedgerUnavailable``; nothing is lost by that.
        """
        schedules = self._truth.schedules
        if schedules is None:
            return Report()
        mark = self._marker.read()
        identity, change = schedules.identity(), schedules.last_change()
        if mark is not None and mark.identity != identity:
            log.error("schedules are not ours", extra=event(why=FOREIGN))
            return Report(why=FOREIGN, foreign=True)
        # The first look ever: what Redis has is from before there was a database to keep it.
        first = not schedules.pulse()
        syncing = self._syncing(schedules, adopting=first)
        report = Report(why=self._why(schedules, mark, change), findings=syncing.findings)
        rows = self._everything(schedules, syncing) if report.why else self._some(schedules, mark)
        self._sync(syncing, rows, report)
        if beginning and not report.why:
            self._sync(syncing, self._recent(schedules), report)
        self._finish(schedules, change)
        _say(report)
        return report

    def restore(self, *, dry: bool, take_over: bool = False) -> Report:
        """Compares all, as somebody has asked for it; ``dry`` changes nothing."""
        schedules = self._truth.schedules
        if schedules is None:
            return Report()
        if self._marker.foreign(schedules.identity()) and not take_over:
            return Report(why=FOREIGN, foreign=True)
        change = schedules.last_change()
        syncing = self._syncing(schedules, adopting=take_over, dry=dry)
        report = Report(why="asked for", findings=syncing.findings)
        self._sync(syncing, self._everything(schedules, syncing), report)
        if not dry:
            self._finish(schedules, change)
            _say(report)
        return report

    def _syncing(self, schedules: Schedules, *, adopting: bool, dry: bool = False) -> Syncing:
        def over(name: str) -> None:
            schedules.remove(name, "", ending="over")

        return Syncing(
            self._truth.book,
            self._truth.history.last,
            dry=dry,
            over=nobody if dry else over,
            unknown=self._truth.adopt if adopting and not dry else nobody,
        )

    def _why(self, schedules: Schedules, mark: Mark | None, change: int) -> str:
        """Why all must be compared; empty, where that is not so."""
        if mark is None:
            return EMPTIED
        if mark.pulse < schedules.pulse() or mark.change > change:
            return OLDER
        counts = (schedules.count(), self._truth.book.count().stored)
        if counts[0] == counts[1] or counts == self._known:
            self._differed = None
            return ""
        # What fires just now is gone from one of them a moment earlier than from the other.
        again, self._differed = self._differed == counts, counts
        # All are compared once: what still differs then is what is left alone.
        self._known = counts if again else self._known
        return COUNTS if again else ""

    def _some(self, schedules: Schedules, mark: Mark | None) -> Iterator[list[StoredSchedule]]:
        """What changed since the last look, and the next few of all."""
        change, name = (mark.change if mark else 0), LAST
        while found := schedules.changed_since(change, name, _PAGE):
            yield found
            change, name = found[-1].change, found[-1].name
        for _ in range(_SWEEP // _PAGE):
            found = schedules.page(Wanted(), after=self._swept, limit=_PAGE)
            self._swept = found[-1].name if len(found) == _PAGE else ""
            if found:
                yield found
            if not self._swept:
                return

    def _everything(self, schedules: Schedules, syncing: Syncing) -> Iterator[list[StoredSchedule]]:
        after = ""
        while found := schedules.page(Wanted(), after=after, limit=_PAGE):
            yield found
            after = found[-1].name
        # And the other way round: what Redis has beyond them.
        shelf, after = self._truth.book.shelf, ""
        while names := shelf.by_name(after, _PAGE):
            after = names[-1]
            rows = schedules.named(names)
            syncing.strangers(names, rows)
            yield [row for row in rows if not row.lives]

    def _recent(self, schedules: Schedules) -> Iterator[list[StoredSchedule]]:
        """What fired lately: Redis may have lost its last moments with the beat that led."""
        names = self._truth.history.recent(self._clock() - _RECENT)
        for start in range(0, len(names), _PAGE):
            yield schedules.named(names[start : start + _PAGE])

    def _sync(
        self, syncing: Syncing, pages: Iterator[Sequence[StoredSchedule]], report: Report
    ) -> None:
        for rows in pages:
            self._alive()
            syncing.sync(rows)
            report.compared += len(rows)

    def _finish(self, schedules: Schedules, change: int) -> None:
        """First Redis: should the database not get the number, Redis is not older by that."""
        pulse = schedules.pulse() + 1
        self._marker.write(Mark(identity=schedules.identity(), change=change, pulse=pulse))
        schedules.note_pulse(pulse)
        now = self._clock()
        if self._purged is None or now - self._purged > _PURGE_EVERY:
            self._purged = now
            self._truth.history.purge(now - self._keep)
            schedules.forget(now - _TOMBSTONES)


def _say(report: Report) -> None:
    found = report.findings
    if found:
        first = {kind: names[:_SAID] for kind, names in found.names.items()}
        fields = event(why=report.why, **found.counts, first=first)
        log.warning("schedules put right", extra=fields)
