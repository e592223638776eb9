"""A wall-clock limit for one attempt, everything included.

The timeouts of ``requests`` and ``smtplib`` bound one wait on a socket each, so that a peer
which sends a byte now and then holds its caller for ever. A ``Deadline`` shuts the sockets
it guards down when the time is up, which wakes whoever waits on them.
"""

import os
from contextlib import suppress
from socket import SHUT_RDWR, socket
from threading import Lock
from time import monotonic
from typing import Final, Self

from notify.channels.watchdog import WATCHDOG

_SHORTEST: Final = 0.001


class Duplicate:
    """A second descriptor of a connected socket, by which another thread can shut it down.

    TLS takes the first one over, and closing that one while another thread uses it would hit
    whatever gets its number next. This one is closed when nobody holds it any more.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, connection: socket) -> None:
        self._descriptor = -1
        self._descriptor = os.dup(connection.fileno())

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def shut_down(self) -> None:
        with suppress(OSError):
            borrowed = socket(fileno=self._descriptor)
            try:
                borrowed.shutdown(SHUT_RDWR)
            finally:
                borrowed.detach()


class Deadline:
    """Shuts its sockets down ``seconds`` after it was made; ends when it is left."""

    __slots__ = ("_guarded", "_lock", "ends")

    def __init__(self, seconds: float) -> None:
        self.ends: Final = monotonic() + seconds
        self._lock = Lock()
        self._guarded: list[Duplicate] = []

    def __enter__(self) -> Self:
        WATCHDOG.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        WATCHDOG.drop(self)
        with self._lock:
            self._guarded.clear()

    @property
    def passed(self) -> bool:
        return monotonic() >= self.ends

    def remaining(self) -> float:
        """Seconds left, never 0: sockets take that for "do not wait at all"."""
        return max(self.ends - monotonic(), _SHORTEST)

    def guard(self, connection: socket) -> Duplicate:
        """Shut this connected socket down at the deadline.

        Whoever keeps the connection for longer can keep the duplicate, and have it watched
        again.
        """
        duplicate = Duplicate(connection)
        self.watch(duplicate)
        return duplicate

    def watch(self, duplicate: Duplicate) -> None:
        """Shut the socket of this duplicate down at the deadline."""
        with self._lock:
            self._guarded.append(duplicate)
            if self.passed:
                duplicate.shut_down()

    def cut(self) -> None:
        """The time is up: called by whoever watches it."""
        with self._lock:
            for duplicate in self._guarded:
                duplicate.shut_down()
