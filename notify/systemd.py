"""What systemd is told: sd_notify(3).

Without systemd nothing is sent and nothing is asked.
"""

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

_STATUS_LENGTH: Final = 200
# The watchdog is fed no more often than this.
_ALIVE_EVERY: Final = 1.0
# What systemd/notify-worker@.service allows; NOTIFY_STOP_TIMEOUT says it where it is more.
STOP_TIMEOUT: Final = 90.0


def supervised(environ: Mapping[str, str] | None = None) -> bool:
    """Whether systemd wants to be told."""
    environment = os.environ if environ is None else environ
    return bool(environment.get("NOTIFY_SOCKET"))


def tell_supervisor(*lines: str) -> None:
    """Sends ``READY=1``, ``STATUS=…``, ``WATCHDOG=1`` or ``STOPPING=1`` in one datagram.

    An address that starts with "@" is in Linux's abstract namespace.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.connect(address)
        out.sendall("\n".join(lines).encode())


def tell_ready(status: str) -> None:
    """The process does its work from now on, or does it again after a reload."""
    tell_supervisor("READY=1", _status(status))


def tell_status(status: str, *, alive: bool = False) -> None:
    """What it is doing, in plain words; ``alive`` feeds the watchdog."""
    tell_supervisor(*(["WATCHDOG=1"] if alive else []), _status(status))


def tell_stopping(status: str) -> None:
    """The process is about to end."""
    tell_supervisor("STOPPING=1", _status(status))


def tell_reloading() -> None:
    """The configuration is being read again; ``tell_ready`` must follow."""
    tell_supervisor("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def stop_timeout(environ: Mapping[str, str] | None = None) -> float:
    """How many seconds a worker has between SIGTERM and SIGKILL."""
    environment = os.environ if environ is None else environ
    value = environment.get("NOTIFY_STOP_TIMEOUT", "")
    return float(value) if value.isdecimal() else STOP_TIMEOUT


def since(moment: datetime) -> str:
    """For a status: the time of day, which is all that a person needs at night."""
    return f"since {moment.astimezone(UTC):%H:%M:%S} UTC"


class Reporter:
    """For a process with one loop: READY with its first status, then changes and signs of life.

    The status ``begins`` comes before that, and is not told later: it says what is tried.
    """

    def __init__(self, begins: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._begins = begins
        self._clock = clock
        self._ready = False
        self._said = ""
        self._alive = float("-inf")

    def status(self, text: str) -> None:
        """What it does, or what it waits for: either is ready."""
        beginning = text == self._begins
        if text == self._said or (beginning and self._ready):
            return
        (tell_status if beginning or self._ready else tell_ready)(text)
        self._ready, self._said = not beginning, text

    def alive(self) -> None:
        """Called in each turn of the loop, and nowhere else."""
        now = self._clock()
        if now - self._alive >= _ALIVE_EVERY:
            self._alive = now
            tell_supervisor("WATCHDOG=1")

    def resumed(self, note: str) -> None:
        """After a reload: it goes on; ``note`` is what a person should know."""
        tell_ready("; ".join(part for part in (self._said, note) if part))


def _status(text: str) -> str:
    """One line: a second one would be a message of its own."""
    return "STATUS=" + " ".join(text.split())[:_STATUS_LENGTH]
