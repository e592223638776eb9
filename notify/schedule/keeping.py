"""Beside the beat while it leads: sees to it that Redis has the schedules it should have."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Protocol

from notify.errors import NotifyError
from notify.schedule.leader import Leader
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

_EVERY: Final = 60.0
_AGAIN: Final = 10.0
# A database that answers nothing for so long holds up no firing: one that is away says so sooner.
_PATIENCE: Final = 15.0
_MOMENT: Final = 1.0


class Keeper(Protocol):
    """Compares what Redis has with what it should have, and puts it right."""

    def look(self, *, beginning: bool = False) -> object:
        """``beginning``: before the first firing of a term. Raises ``NotifyError``."""


OpenKeeper = Callable[[Callable[[], None]], AbstractContextManager[Keeper]]
"""Gets what the keeper is to call now and then while it takes long."""


class Ended(NotifyError):
    """The beat stops, or leads no more."""


class Keeping:
    """Looks when a term begins, before anything is fired, and then once a minute.

    All of it happens in a thread of its own, because no database promises to answer. Where a look
    fails, or makes no progress, what Redis has is fired all the same. ``open_keeper`` is called
    when it is first needed, and again until it succeeds.
    """

    def __init__(
        self,
        open_keeper: OpenKeeper | None,
        leader: Leader,
        stopping: threading.Event,
        *,
        patience: float = _PATIENCE,
    ) -> None:
        self._open = open_keeper
        self._leader = leader
        self._stopping = stopping
        self._patience = patience
        self._opened: AbstractContextManager[Keeper] | None = None
        self._keeper: Keeper | None = None
        self._begun = 0
        self._looked = 0
        self._well = True
        self._moved = 0.0
        self._ending = False
        self._wanted = threading.Event()
        """That of a term which begins, or the end."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat-keeper", daemon=True)
        if open_keeper is not None:
            self._thread.start()

    def begin(self, term: int, alive: Callable[[], None] = lambda: None) -> None:
        """Before the first firing of a term. ``alive`` is called while it lasts."""
        self._begun = term
        if self._open is None:
            return
        self._moved = time.monotonic()
        self._wanted.set()
        while self._looked != term:
            alive()
            if self._done.wait(min(_MOMENT, self._patience)):
                self._done.clear()
                continue
            if self._stopping.is_set() or not self._leader.holds(term):
                return
            if time.monotonic() - self._moved > self._patience:
                self._say("the database does not answer")
                return

    def close(self) -> None:
        """``stopping`` is set by then."""
        if self._open is None:
            return
        self._ending = True
        self._wanted.set()
        self._thread.join(_AGAIN)
        if self._opened is not None and not self._thread.is_alive():
            self._opened.__exit__(None, None, None)

    def _still(self) -> None:
        """Raises ``Ended`` when there is no use in going on."""
        if self._stopping.is_set() or not self._leader.holds(self._begun):
            raise Ended
        self._moved = time.monotonic()

    def _run(self) -> None:
        wait = _EVERY
        while not self._ending:
            beginning = self._wanted.wait(wait)
            self._wanted.clear()
            wait, term = _EVERY, self._begun
            if self._ending or self._stopping.is_set():
                continue
            looks = beginning or self._leader.holds(self._begun)
            if looks and not self._look(beginning=beginning):
                wait = _AGAIN
            if beginning:
                self._looked = term
                self._done.set()

    def _look(self, *, beginning: bool = False) -> bool:
        try:
            self._kept().look(beginning=beginning)
        except Ended:
            return True
        except NotifyError as error:
            self._say(str(error))
            return False
        except Exception as error:
            self._say(safe_traceback(error))
            return False
        self._well = True
        return True

    def _kept(self) -> Keeper:
        if self._keeper is None:
            assert self._open is not None
            opened = self._open(self._still)
            self._keeper = opened.__enter__()
            self._opened = opened
        return self._keeper

    def _say(self, why: str) -> None:
        if self._well:
            log.warning("schedules not compared with the database", extra=event(why=why))
        self._well = False
