"""An archiver in a thread, and stores that misbehave on request."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from notify.archiver import Archiver
from notify.deadletter import DeadLetter
from notify.errors import StoreUnavailable
from notify.store import Store
from tests.waiting import eventually


@dataclass(frozen=True, kw_only=True)
class Settings:
    urls: tuple[str, ...]
    heartbeat: int = 10
    connect_timeout: float = 3.0
    ca_file: str | None = None


class Running:
    """What a test sees of the archiver that runs for it."""

    def __init__(self, urls: Sequence[str], store: Any, heartbeat: int, **options: Any) -> None:
        self.statuses: list[str] = []
        self.stop = threading.Event()
        settings = Settings(urls=tuple(urls), heartbeat=heartbeat)
        self._archiver = Archiver(
            settings, store, stop=self.stop, on_status=self.statuses.append, **options
        )
        self._failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._archiver.run()
        except BaseException as error:  # shown by ``finish``
            self._failure = error

    def finish(self, seconds: float = 10) -> None:
        self.stop.set()
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the archiver did not stop"
        if self._failure:
            raise self._failure

    def until(self, status: str, times: int = 1) -> None:
        def seen() -> bool:
            return sum(status in said for said in self.statuses) >= times

        eventually(seen, f"status {status!r} x{times}, got {self.statuses}")


@contextmanager
def archiving(*urls: str, store: Any, heartbeat: int = 10, **options: Any) -> Iterator[Running]:
    running = Running(urls, store, heartbeat, **options)
    try:
        yield running
    finally:
        running.finish()


class Troubled:
    """A store that does what ``trouble`` does before each addition."""

    def __init__(self, store: Store, trouble: Callable[[], object]) -> None:
        self._store = store
        self._trouble = trouble
        self.additions = 0

    def create(self) -> None:
        self._store.create()

    def add(self, letters: Sequence[DeadLetter]) -> int:
        if letters:
            self.additions += 1
            self._trouble()
        return self._store.add(letters)


class Outage:
    """Trouble that can be ended."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __call__(self) -> None:
        if not self.over.is_set():
            raise StoreUnavailable("the disk is away")
