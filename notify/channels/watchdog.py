"""One thread for all deadlines of a process: it sleeps until the earliest of them is over."""

import logging
import os
from math import inf
from threading import Event, Lock, Thread
from time import monotonic
from typing import Final, Protocol

from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

# The standard library cannot wait for ever longer; who has slept so long looks again.
_LONGEST: Final = 3600.0


class Limited(Protocol):
    """What is to be cut off, and when (monotonic)."""

    @property
    def ends(self) -> float: ...

    def cut(self) -> None: ...


class Watchdog:
    """Cuts off what is watched when its time is over, from a thread of its own.

    A deadline that is later than the one slept for wakes nobody, neither when it is added nor
    when it is dropped: with sends that all have the same time, the thread looks up once in that
    time. Without anything to watch it sleeps.
    """

    def __init__(self) -> None:
        self._reset()
        # Threads do not survive a fork, and a lock may be held by one of them.
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = Lock()
        self._bell = Event()
        self._watched: set[Limited] = set()
        self._wakes = inf
        self._running = False

    def add(self, limited: Limited) -> None:
        with self._lock:
            if not self._running:
                Thread(target=self._run, name="deadlines", daemon=True).start()
                self._running = True
            self._watched.add(limited)
            if limited.ends < self._wakes:
                self._wakes = limited.ends
                self._bell.set()

    def drop(self, limited: Limited) -> None:
        """What is being cut off at this moment still is: it has a lock for that."""
        with self._lock:
            self._watched.discard(limited)

    def _run(self) -> None:
        while True:
            for limited in self._over():
                try:
                    limited.cut()
                except Exception as error:
                    log.error("a deadline was not kept", extra=event(error=safe_traceback(error)))
            self._bell.wait(min(max(self._wakes - monotonic(), 0.0), _LONGEST))

    def _over(self) -> list[Limited]:
        """What is over, taken out; from now on the earliest of the rest is waited for."""
        with self._lock:
            self._bell.clear()
            now = monotonic()
            over = [limited for limited in self._watched if limited.ends <= now]
            self._watched.difference_update(over)
            self._wakes = min((limited.ends for limited in self._watched), default=inf)
        return over


WATCHDOG: Final = Watchdog()
