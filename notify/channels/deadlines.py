"""A wall-clock limit for one attempt, everything included.

The timeouts of ``requests`` and ``smtplib`` bound one wait on a socket each, so that a peer
which sends a byte now and then holds its caller for ever. A ``Deadline`` shuts the sockets
it guards down when the time is up, which wakes whoever waits on them.
"""

import os
from contextlib import suppress
from socket import SHUT_RDWR, socket
from threading import Lock, Timer
from time import monotonic
from typing import Final, Self

_SHORTEST: Final = 0.001


class Deadline:
    """Shuts its sockets down ``seconds`` after it was made; ends when it is left."""

    def __init__(self, seconds: float) -> None:
        self._ends = monotonic() + seconds
        self._lock = Lock()
        self._cut = False
        self._guarded: list[socket] = []
        self._timer = Timer(max(seconds, 0.0), self._cut_all)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for guarded in self._guarded:
                guarded.close()
            self._guarded.clear()

    @property
    def passed(self) -> bool:
        return monotonic() >= self._ends

    def remaining(self) -> float:
        """Seconds left, never 0: sockets take that for "do not wait at all"."""
        return max(self._ends - monotonic(), _SHORTEST)

    def guard(self, connection: socket) -> None:
        """Shut this connected socket down at the deadline.

        A duplicate of the descriptor is kept, because TLS takes the original over.
        """
        duplicate = socket(fileno=os.dup(connection.fileno()))
        with self._lock:
            self._guarded.append(duplicate)
            if self._cut:
                _shut_down(duplicate)

    def _cut_all(self) -> None:
        with self._lock:
            self._cut = True
            for guarded in self._guarded:
                _shut_down(guarded)


def _shut_down(connection: socket) -> None:
    with suppress(OSError):
        connection.shutdown(SHUT_RDWR)
