"""Publishes the rows of a batch through its outlet, and notes how far it has come.

At most ``window`` rows beyond the cursor that is noted in the archive are ever published.
So a kill costs at most so many copies, which their ids give away, and never a row: what the
archive does not have as over is taken again.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Final

from notify.batch.outlet import TEMPORARY, Done, Outlet
from notify.batch.pacing import Pacer
from notify.batch.progress import Progress
from notify.batch.source import Source
from notify.batch.trouble import Trouble
from notify.errors import NotifyError, StoreUnavailable
from notify.rows import Row
from notify.store.batches import PAUSED, RUNNING, Batch, Batches

WINDOW: Final = 1000
_MOST_FAILURES: Final = 1000
_BEAT: Final = 0.5
# A longer wait for the next row is spent with nothing under way.
_SHORT_WAIT: Final = 0.1
_SHORTEST: Final = 0.01


class LostLease(NotifyError):
    """Another process runs this batch now; this one has stopped."""


class TooManyFailures(NotifyError):
    """Too many rows could not be published; the batch is paused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Knobs:
    """``patience``: after so many seconds in which nothing was confirmed it gives up."""

    window: int = WINDOW
    patience: float = 300.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class _Pass(Enum):
    """Why a row of the source is looked at."""

    FIRST = 1
    AGAIN = 2
    """It could not be published in an earlier run."""
    OVER = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    row: Row
    again: bool


class Engine:
    """Runs one batch that ``owner`` has taken. ``watch`` is told of the progress often."""

    def __init__(
        self,
        outlet: Outlet,
        batches: Batches,
        batch: Batch,
        source: Source,
        *,
        watch: Callable[[Progress], None] = lambda _: None,
        knobs: Knobs | None = None,
    ) -> None:
        self._outlet = outlet
        self._batches = batches
        self._batch = batch
        self._source = source
        self._watch = watch
        self._knobs = knobs or Knobs()
        self._window = max(2, self._knobs.window)
        failing = [each.number for each in batches.failures(batch.name)]
        self.progress = Progress(batch, failing)
        self._pacer = Pacer(batch.rate)
        self._trouble = Trouble(self._knobs.patience)
        self._archive_trouble = Trouble(self._knobs.patience)
        self._archive_trouble.over()  # the batch has just been taken there
        self._rows = self._all_rows(frozenset(failing))
        self._ended = False
        self._stopped = False
        self._state = RUNNING
        self._beat = self._knobs.clock()
        # The next row, which waits for its turn.
        self._held: _Entry | None = None
        self._again: deque[_Entry] = deque()
        self._under_way: dict[int, _Entry] = {}

    def stop(self) -> None:
        """Lets it come to an end soon, to go on another time. From a signal handler too."""
        self._stopped = True

    def run(self) -> str:
        """Returns the state in which it left the batch.

        Raises ``TooManyFailures``, ``LostLease``, ``Unavailable``, ``PublishError`` and what
        the source raises; then the batch can be run again.
        """
        try:
            while self._wanted() and not self._finished():
                for done in self._outlet.send(self._feed(), window=self._window // 2):
                    self._took(done)
                self._save()
                self._rest()
        except LostLease:
            raise
        except TooManyFailures:
            self._save(leave=PAUSED)
            raise
        except BaseException:
            with suppress(NotifyError):
                self._save_once(leave="")
            raise
        return self._save(leave=self.progress.outcome if self._finished() else "")

    def _wanted(self) -> bool:
        return self._state == RUNNING and not self._stopped

    def _finished(self) -> bool:
        return self._ended and not self._again and self._held is None

    def _all_rows(self, failing: frozenset[int]) -> Iterator[tuple[Row, _Pass]]:
        """Those that failed in an earlier run and what comes after the cursor, in one pass: a
        program's source may be one that can be read only once."""
        cursor = self._batch.cursor
        for row in self._source.rows(min(cursor, min(failing, default=cursor + 1) - 1)):
            if row.number > cursor:
                yield row, _Pass.FIRST
            else:
                yield row, _Pass.AGAIN if row.number in failing else _Pass.OVER

    def _feed(self) -> Iterator[Row]:
        """Ends whenever what is under way must be over before anything else can go."""
        while not self._finished() and self._may_go():
            if self._held is None:
                self._held = self._again.popleft() if self._again else self._next()
            if self._held is None:
                continue
            if not self._has_its_turn():
                return
            entry, self._held = self._held, None
            self._pacer.went(self._knobs.clock())
            self._under_way[entry.row.number] = entry
            yield entry.row

    def _may_go(self) -> bool:
        now, frontier = self._knobs.clock(), self.progress.frontier
        if now - self._beat >= _BEAT or frontier.exposed >= self._window:
            self._save()
        if not self._wanted() or now < self._trouble.until:
            return False
        return bool(self._held or self._again) or frontier.exposed < self._window

    def _has_its_turn(self) -> bool:
        wait = self._pacer.wait(self._knobs.clock())
        if 0 < wait <= _SHORT_WAIT:
            self._knobs.sleep(wait)
        return wait <= _SHORT_WAIT

    def _next(self) -> _Entry | None:
        """The next row, if it is one to publish."""
        row, why = next(self._rows, (None, _Pass.OVER))
        self._ended = row is None
        if row is None or why is _Pass.OVER:
            return None
        if why is _Pass.FIRST:
            self.progress.frontier.take(row.number)
        if row.notification is None:
            self._refused(row, why)
            return None
        return _Entry(row=row, again=why is _Pass.AGAIN)

    def _refused(self, row: Row, why: _Pass) -> None:
        self.progress.refused(row.number, again=why is _Pass.AGAIN)

    def _took(self, done: Done) -> None:
        entry = self._under_way.pop(done.number)
        notification = entry.row.notification
        assert notification is not None
        if isinstance(done.error, TEMPORARY):
            self._again.append(entry)
            self._trouble.note(done.error, self._knobs.clock())
        elif done.error is not None:
            self.progress.failed(done.number, notification.id, str(done.error), again=entry.again)
            self._check_failures(done.error)
        elif done.left_out:
            self.progress.refused(done.number, again=entry.again)
        else:
            self._trouble.over()
            self.progress.confirmed(done.number, notification.channel, again=entry.again)
        self._watch(self.progress)

    def _check_failures(self, error: NotifyError) -> None:
        failures = self.progress.new_failures
        if failures >= _MOST_FAILURES:
            raise TooManyFailures(
                f"{failures} rows could not be published, the last one because: {error};"
                f" batch {self._batch.name} is paused"
            )

    def _rest(self) -> None:
        """Until the next row may go, with nothing under way."""
        while self._wanted() and not self._finished():
            now = self._knobs.clock()
            self._trouble.check(now)
            turn, troubled = self._pacer.wait(now), self._trouble.until - now
            if turn <= _SHORT_WAIT and troubled <= 0:
                return
            self._knobs.sleep(max(_SHORTEST, min(max(turn, troubled), _BEAT)))
            self._save()

    def _save(self, leave: str | None = None) -> str:
        """Notes the progress, for which it waits while the archive is away, and learns what
        others want. Raises ``LostLease``."""
        tried = False
        while True:
            try:
                state = self._save_once(leave)
            except StoreUnavailable as error:
                tried = True
                self._wait_for_archive(error)
            except LostLease:
                if leave is None or not tried:
                    raise
                return leave or self._state  # it was noted, and the answer lost
            else:
                self._archive_trouble.over()
                return state

    def _wait_for_archive(self, error: StoreUnavailable) -> None:
        """Raises it when that lasts, or when told to stop."""
        now = self._knobs.clock()
        self._archive_trouble.note(error, now)
        self._archive_trouble.check(now)
        while (wait := self._archive_trouble.until - self._knobs.clock()) > 0:
            if self._stopped:
                raise error
            self._knobs.sleep(min(wait, _BEAT))

    def _save_once(self, leave: str | None) -> str:
        open_rows = max(0, self.progress.frontier.beyond - (self._held is not None))
        self._outlet.save()
        done = self.progress.snapshot(repeats=0 if leave is None else open_rows)
        state = self._batches.save(self._batch.name, self._batch.owner or "", done, leave=leave)
        if state is None:
            raise LostLease
        self.progress.saved()
        self._state = state
        self._beat = self._knobs.clock()
        return state
