"""RedBeat's scheduler, which publishes, waits for the confirm, and only then goes on.

It takes over from RedBeat how schedules lie in Redis, and from Celery the loop that calls ``tick``.
What lies between is its own, because RedBeat marks a run as done and then publishes it, loads one
entry after the other, all that are due before the first is fired, and ends for all with one that
it cannot read. Here a chunk of what is due is read in one round trip, fired with a window of
confirms, and moved on in another; an entry that cannot be used goes into quarantine.

Killed anywhere in between, it leaves what was published and not noted: that is published again
under the same id, and delivered once.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from celery import Celery
from redbeat import RedBeatScheduler

from notify.errors import LedgerUnavailable, NotifyError
from notify.schedule import entries
from notify.schedule.desk import Desk
from notify.schedule.entries import LOOP_INTERVAL, Unusable
from notify.schedule.firing import HELD, Job
from notify.schedule.instants import from_micros, to_micros
from notify.schedule.legacy import adopt_all, migrate
from notify.schedule.settling import Settling
from notify.schedule.shelf import Written
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

# Entries that are read, fired and moved on together; and how many firings they may have.
CHUNK: Final = 1000
_MOST_FIRINGS: Final = 1000
# What is fired in one tick, before somebody else has a turn.
_LONGEST_TICK: Final = 5.0
_COUNT_EVERY: Final = 10.0


class Scheduler(RedBeatScheduler):
    """Run by Celery's beat service; ``desk`` by keyword."""

    Entry = entries.Entry

    def __init__(self, app: Celery, *, desk: Desk, **options: Any) -> None:
        self._desk = desk
        self._settling = Settling(desk)
        self._trouble = ""
        self._begun = 0
        self._count_at = 0.0
        self._stored = 0
        super().__init__(app, **options)
        # RedBeat would take its own lock by a signal, in which errors are swallowed.
        self.lock_key = None

    def setup_schedule(self) -> None:
        """Installs nothing: Celery would add a schedule of its own for result backends."""

    @property
    def schedule(self) -> dict[str, entries.Entry]:
        """What is due now; never all there is, which may be a million."""
        names = self._desk.shelf.look(self._desk.now().timestamp(), CHUNK).names
        rows = self._desk.shelf.read(names)
        return {row.name: entries.Entry.read(row, self.app) for row in rows if row is not None}

    @property
    def info(self) -> str:
        return ""

    def tick(self, *_: Any, **__: Any) -> float:
        """One look, and the wait for the next, which a signal ends: Celery's own wait does not."""
        seconds = self.look()
        self._desk.stopping.wait(max(0.0, seconds))
        return 0.0

    def close(self) -> None:
        """The lock and the connections belong to whoever made them."""

    def look(self) -> float:
        """Fires what is due, if this beat leads; how many seconds it may rest then."""
        desk = self._desk
        if desk.leader.died:
            raise NotifyError("the thread that keeps the lock has ended")
        desk.alive()
        term = desk.leader.term()
        if not term:
            self._stand_by()
            return LOOP_INTERVAL
        began = time.monotonic()
        try:
            self._begin(term)
            rest = self._fire_due(term, began)
        except LedgerUnavailable as error:
            self._said(str(error))
            rest = LOOP_INTERVAL
        except Exception as error:
            # A bug, or what nobody thought of: to end would only bring it again.
            self._said(safe_traceback(error))
            rest = LOOP_INTERVAL
        desk.metrics.tick_seconds.observe(time.monotonic() - began)
        return rest

    def _begin(self, term: int) -> None:
        """Before the first firing of a term."""
        if term == self._begun:
            return
        self._desk.status("leading, comparing the schedules with the database")
        adopted = migrate(self._desk.shelf, self.app)
        if adopted:
            log.info("schedules taken over from RedBeat", extra=event(count=adopted))
        self._desk.keeping.begin(term, self._desk.alive)
        self._begun = term

    def _stand_by(self) -> None:
        leader = self._desk.leader
        if self._count_at:
            # It is another one's to tell by now, which knows better.
            self._count_at = 0.0
            self._desk.metrics.schedules.clear()
        if leader.trouble:
            self._desk.status(f"waiting: {leader.trouble}")
        else:
            self._desk.status(f"standing by; beat on host {leader.holder or 'unknown'} leads")

    def _said(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("schedules wait", extra=event(why=trouble))
        if self._trouble and not trouble:
            log.info("schedules go on")
        self._trouble = trouble
        if trouble:
            self._desk.status(f"leading, waiting: {trouble}")

    def _fire_due(self, term: int, began: float) -> float:
        desk = self._desk
        while desk.leader.holds(term) and not desk.stopping.is_set():
            asked, now = time.monotonic(), desk.now()
            glance = desk.shelf.look(now.timestamp(), CHUNK)
            self._compare_clocks(glance.time, time.monotonic() - asked)
            if not glance.names:
                self._said("")
                return self._rest(glance.following, now)
            if not self._fire_some(glance.names, now, term):
                return LOOP_INTERVAL
            if time.monotonic() - began > _LONGEST_TICK:
                return 0.0
        return 0.0

    def _compare_clocks(self, there: float, took: float) -> None:
        desk, before = self._desk, self._desk.clocks.steps
        # An answer that took its time says little about what time it is now.
        if took < LOOP_INTERVAL / 4:
            desk.clocks.look(there)
            desk.metrics.clock_skew_seconds.set(desk.clocks.skew)
            desk.metrics.clock_steps.inc(desk.clocks.steps - before)

    def _rest(self, following: float | None, now: datetime) -> float:
        self._count()
        seconds = None if following is None else max(0.0, following - now.timestamp())
        ahead = "nothing planned" if seconds is None else f"next in {seconds:.0f} s"
        self._desk.status(f"leading, {self._stored} schedules, {ahead}")
        return min(LOOP_INTERVAL, LOOP_INTERVAL if seconds is None else seconds)

    def _count(self) -> None:
        if time.monotonic() < self._count_at:
            return
        self._count_at = time.monotonic() + _COUNT_EVERY
        counts = self._desk.shelf.counts()
        self._stored = counts.stored
        for state in ("stored", "paused", "quarantined"):
            self._desk.metrics.schedules.labels(state).set(getattr(counts, state))

    def _fire_some(self, names: Sequence[str], now: datetime, term: int) -> bool:
        """False where it is better to wait a moment before going on."""
        for some in _portions(self._jobs(list(self._entries(names)), now)):
            self._remember_tries(some, now)
            self._desk.firing.fire(some, lambda: self._may_go(term))
            self._settling.settle(some, now)
            self._desk.alive()
            held = Counter(job.why for job in some if job.verdict == HELD)
            if held:
                self._said(held.most_common(1)[0][0])
                return False
        return True

    def _remember_tries(self, jobs: Sequence[Job], now: datetime) -> None:
        """Whose content tells the actual instant must have the same one whenever it is tried."""
        desk = self._desk
        fires = [job for job in jobs if job.work.fire]
        telling = [job for job in fires if desk.firing.depends_on_actual(job.entry)]
        rows = [(job.entry.name, job.entry.written.v) for job in telling]
        tries = desk.shelf.first_tries(desk.leader.token, rows, to_micros(now))
        for job, tried in zip(telling, tries, strict=True):
            if tried.isdecimal():
                job.actual = from_micros(tried)
            else:
                job.spoil(HELD, "was changed meanwhile")

    def _may_go(self, term: int) -> bool:
        return self._desk.leader.holds(term) and not self._desk.stopping.is_set()

    def _entries(self, names: Sequence[str]) -> Iterable[entries.Entry]:
        shelf = self._desk.shelf
        old: list[Written] = []
        # What is too large for one answer is still due at the next look.
        for name, written in zip(names, shelf.read_some(names), strict=False):
            if written is None:
                self._settling.set_aside(name, "", "nothing is stored under this name")
            elif written.v == "0":
                old.append(written)
            else:
                try:
                    yield entries.Entry.read(written, self.app)
                except Unusable as error:
                    self._settling.set_aside(name, written.v, str(error))
        for name, why in adopt_all(old, shelf, self.app).items():
            self._settling.set_aside(name, "0", why)

    def _jobs(self, found: Iterable[entries.Entry], now: datetime) -> Iterable[Job]:
        for entry in found:
            try:
                work = entry.work(now)
            except Exception as error:
                why = f"cannot be planned: {type(error).__name__}"
                self._settling.set_aside(entry.name, entry.written.v, why)
                continue
            yield Job(entry=entry, work=work, actual=now)


def _portions(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """So many that what is outstanding stays small, whatever they have to make up for."""
    some: list[Job] = []
    count = 0
    for job in jobs:
        some.append(job)
        count += len(job.work.fire)
        if count >= _MOST_FIRINGS:
            yield some
            some, count = [], 0
    if some:
        yield some
