"""Collect, commit, acknowledge: in this order, and the next batch meanwhile."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from notify.archiver.commit import Archive, Commit
from notify.archiver.consumer import Arrival, Consumer
from notify.deadletter import DeadLetter
from notify.errors import StoreUnavailable
from notify.telemetry import event

log = logging.getLogger(__name__)

_IDLE: Final = 0.5
_COMMIT_LIMIT: Final = 60.0


class NotStored(Exception):
    """These letters could not be stored, and were not acknowledged."""

    def __init__(self, letters: Sequence[DeadLetter], problem: str) -> None:
        super().__init__(problem)
        self.letters = tuple(letters)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Letters to be stored at once, whether that is done, and since when."""

    arrivals: tuple[Arrival, ...]
    commit: Commit
    started: float

    @property
    def letters(self) -> tuple[DeadLetter, ...]:
        return tuple(arrival.letter for arrival in self.arrivals)


class Pipeline:
    """What one connection brings, on its way into the store."""

    def __init__(
        self,
        consumer: Consumer,
        store: Archive,
        *,
        size: int,
        wait: float,
        renew_after: float,
        on_archived: Callable[[], None],
    ) -> None:
        self._consumer = consumer
        self._store = store
        self._size = size
        self._wait = wait
        self._renew_after = renew_after
        self._on_archived = on_archived
        self._batch: Batch | None = None
        self._heard_at = time.monotonic()

    def step(self) -> None:
        """Raises ``BrokerUnavailable`` or ``NotStored``."""
        self._consumer.poll(self._patience())
        self._settle()
        if self._batch is None and self._due():
            self._begin()
        self._make_sure()

    def finish(self, seconds: float) -> None:
        """Stores and acknowledges what has arrived, as far as the time allows."""
        deadline = time.monotonic() + seconds
        while self._batch or self._consumer.arrivals:
            if self._batch is None:
                self._begin()
            self._consumer.poll(0.05)
            self._settle()
            if time.monotonic() > deadline:
                return

    def _patience(self) -> float:
        arrivals = self._consumer.arrivals
        if self._batch or not arrivals:
            return _IDLE
        return min(max(arrivals[0].at + self._wait - time.monotonic(), 0.0), _IDLE)

    def _due(self) -> bool:
        arrivals = self._consumer.arrivals
        if len(arrivals) >= self._size:
            return True
        return bool(arrivals) and time.monotonic() >= arrivals[0].at + self._wait

    def _make_sure(self) -> None:
        """After a long silence, makes sure that it is silence."""
        now = time.monotonic()
        if self._batch or self._consumer.arrivals:
            self._heard_at = now
        elif now - self._heard_at > self._renew_after:
            self._consumer.renew()
            self._heard_at = now

    def _begin(self) -> None:
        arrivals = self._consumer.arrivals
        taken = tuple(arrivals.popleft() for _ in range(min(self._size, len(arrivals))))
        letters = tuple(arrival.letter for arrival in taken)
        commit = Commit(lambda: self._store.add(letters), self._consumer.wake)
        self._batch = Batch(arrivals=taken, commit=commit, started=time.monotonic())

    def _settle(self) -> None:
        """Acknowledges what is stored, and only that."""
        batch = self._batch
        if batch is None:
            return
        if not batch.commit.finished:
            if time.monotonic() - batch.started > _COMMIT_LIMIT:
                raise NotStored(batch.letters, f"no commit within {_COMMIT_LIMIT:.0f} s")
            return
        self._batch = None
        try:
            batch.commit.result()
        except StoreUnavailable as error:
            raise NotStored(batch.letters, str(error)) from error
        self._consumer.acknowledge(batch.arrivals[-1].tag)
        self._report(batch.letters)

    def _report(self, letters: Sequence[DeadLetter]) -> None:
        self._on_archived()
        log.info("archived", extra=event(count=len(letters)))
        for letter in letters:
            fields = event(id=letter.id, channel=letter.channel, reason=letter.reason)
            log.info("dead letter archived", extra=fields)
