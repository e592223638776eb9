"""Writing to the store in a thread, so that a slow disk does not cost the connection."""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from notify.deadletter import DeadLetter


class Archive(Protocol):
    """What of ``notify.store.Store`` is used."""

    def create(self) -> None: ...

    def add(self, letters: Sequence[DeadLetter]) -> int: ...


class Commit:
    """One transaction on its way. The thread is a daemon: a dead disk cannot hold the exit."""

    def __init__(self, work: Callable[[], object], then: Callable[[], None]) -> None:
        self._work = work
        self._then = then
        self._failure: BaseException | None = None
        self._finished = threading.Event()
        threading.Thread(target=self._run, name="notify-commit", daemon=True).start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # raised again by the owner's ``result``
            self._failure = error
        self._finished.set()
        self._then()

    @property
    def finished(self) -> bool:
        return self._finished.is_set()

    def wait(self, seconds: float) -> bool:
        return self._finished.wait(seconds)

    def result(self) -> None:
        """Raises what the work raised."""
        if self._failure is not None:
            raise self._failure
