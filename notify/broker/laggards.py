"""Sends what waits for others to go with it, while the source of the next one is slow."""

import threading
from collections.abc import Callable
from typing import Final

LATEST: Final = 0.005
"""No message waits longer for others (seconds)."""


class Laggards:
    """``send`` is called soon after each ``expect``, in a thread that otherwise sleeps."""

    def __init__(self, send: Callable[[], None]) -> None:
        self._send = send
        self._expected = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def expect(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="laggards", daemon=True)
            self._thread.start()
        self._expected.set()

    def stop(self) -> None:
        """The thread ends by itself: whoever collects garbage may be that thread."""
        self._over.set()
        self._expected.set()

    def _run(self) -> None:
        while not self._over.is_set():
            self._expected.wait()
            self._expected.clear()
            if not self._over.wait(LATEST):
                self._send()
