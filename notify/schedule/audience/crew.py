"""Beside the beat while it leads: runs the batches of firings, each in a thread of its own.

What is spread over hours mostly waits, so that more of these run at once than of those that go
as fast as they can. A batch belongs to one process by its owner token in the archive: should two
beats believe that they lead, one runs it.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from notify.batch import lives
from notify.batch.engine import LostLease
from notify.batch.owner import this_process
from notify.errors import NotifyError
from notify.schedule.audience.running import Busy, Halted, NotYet, Run
from notify.schedule.audiences import Audiences
from notify.store.batches import RUNNING, Batch
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

_EVERY: Final = 2.0
_AGAIN: Final = 10.0
_ALL_EVERY: Final = 60.0
_RECENT: Final = timedelta(days=1)
_SWEEP_EVERY: Final = 3600.0
_PATIENCE: Final = 15.0
# At once: of those that are not spread, and of those that are.
FAST: Final = 4
SPREAD: Final = 32


@dataclass(frozen=True, kw_only=True)
class _Hand:
    """One batch under way."""

    owner: str
    spread: bool
    run: Run
    thread: threading.Thread


@dataclass(kw_only=True)
class _Book:
    """Shared by the threads, under ``lock``."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    hands: dict[str, _Hand] = field(default_factory=dict)
    # Owners that were this process and ended, by batch: the archive has not learned of it.
    gone: dict[str, str] = field(default_factory=dict)
    again: dict[str, float] = field(default_factory=dict)


class Crew:
    """``leads`` is asked every two seconds; what is older than a day is looked for each minute."""

    def __init__(
        self, audiences: Audiences, leads: Callable[[], bool], *, fast: int = FAST
    ) -> None:
        self._audiences = audiences
        self._leads = leads
        self._fast = fast
        self._book = _Book()
        self._ending = False
        self._well = True
        self._sweep_at = 0.0
        self._all_at = 0.0
        self._thread = threading.Thread(target=self._run, name="beat-audiences", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Lets all come to an end soon; another beat goes on with them."""
        self._ending = True
        self._audiences.noted.set()
        deadline = time.monotonic() + _PATIENCE
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)
        for hand in self._hands():
            hand.thread.join(max(0.0, deadline - time.monotonic()))

    def running(self) -> list[str]:
        """Names of the batches under way."""
        with self._book.lock:
            return sorted(self._book.hands)

    def look(self) -> None:
        """Begins what waits and has room; ends all where another beat leads. Raises
        ``StoreUnavailable``."""
        if self._ending or not self._leads():
            for hand in self._hands():
                hand.run.stop()
            return
        for batch in self._audiences.waiting(self._alive, self._since()):
            if self._has_room(batch):
                self._begin(batch)
        if time.monotonic() > self._sweep_at:
            self._sweep_at = time.monotonic() + _SWEEP_EVERY
            self._audiences.sweep()

    def _since(self) -> datetime | None:
        """Mostly only new ones are looked at: there may be very many that are over."""
        if time.monotonic() < self._all_at:
            return datetime.now(UTC) - _RECENT
        self._all_at = time.monotonic() + _ALL_EVERY
        return None

    def _run(self) -> None:
        while not self._ending:
            self._audiences.noted.clear()
            try:
                self.look()
                self._well = True
            except NotifyError as error:
                self._say(str(error))
            except Exception as error:
                self._say(safe_traceback(error))
            self._audiences.noted.wait(_EVERY)
        for hand in self._hands():
            hand.run.stop()

    def _say(self, why: str) -> None:
        if self._well:
            log.warning("audiences wait", extra=event(why=why))
        self._well = False

    def _hands(self) -> list[_Hand]:
        with self._book.lock:
            return list(self._book.hands.values())

    def _alive(self, batch: Batch) -> bool:
        with self._book.lock:
            return batch.owner != self._book.gone.get(batch.name) and lives(batch)

    def _has_room(self, batch: Batch) -> bool:
        with self._book.lock:
            book, spread = self._book, _spread(batch)
            if batch.name in book.hands or book.again.get(batch.name, 0.0) > time.monotonic():
                return False
            alike = sum(hand.spread == spread for hand in book.hands.values())
            return alike < (SPREAD if spread else self._fast)

    def _begin(self, batch: Batch) -> None:
        owner = this_process(uuid.uuid4().hex)
        run = self._audiences.begin(batch.name, owner=owner, alive=self._alive)
        thread = threading.Thread(
            target=self._work, args=(batch.name, run), name="beat-audience", daemon=True
        )
        hand = _Hand(owner=owner, spread=_spread(batch), run=run, thread=thread)
        with self._book.lock:
            self._book.hands[batch.name] = hand
            self._book.again.pop(batch.name, None)
        thread.start()

    def _work(self, name: str, run: Run) -> None:
        clean = False
        try:
            self._went(name, run)
            clean = True
        except (Busy, LostLease):
            log.info("another process runs this batch", extra=event(batch=name))
        except Halted as error:
            log.error("batch paused", extra=event(batch=name, why=str(error)))
        except NotYet as error:
            self._later(name, "batch cannot begin, will try again", str(error))
        except NotifyError as error:
            self._later(name, "batch waits", str(error))
        except Exception as error:
            self._later(name, "batch fails, will try again", safe_traceback(error))
        finally:
            with self._book.lock:
                owner = self._book.hands.pop(name).owner
                self._book.gone.pop(name, None)
                if not clean:
                    self._book.gone[name] = owner
            # There may be room for another one.
            self._audiences.noted.set()

    def _went(self, name: str, run: Run) -> None:
        batch = run.go()
        if batch.state == RUNNING and not self._ending:
            log.info("batch is left to another beat", extra=event(batch=name))

    def _later(self, name: str, what: str, why: str) -> None:
        with self._book.lock:
            self._book.again[name] = time.monotonic() + _AGAIN
        log.warning(what, extra=event(batch=name, why=why))


def _spread(batch: Batch) -> bool:
    return bool(batch.source.get("spec", {}).get("spread"))
