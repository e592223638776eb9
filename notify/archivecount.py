"""An archive that counts what is stored in it, and keeps heartbeats out."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from notify.deadletter import DeadLetter
from notify.errors import StoreUnavailable
from notify.message import is_heartbeat
from notify.metrics import ArchiverMetrics
from notify.metrics.labels import channel, reason


class Archive(Protocol):
    """Where the letters go."""

    def create(self) -> None: ...

    def add(self, letters: Sequence[DeadLetter]) -> int: ...


class CountedArchive:
    """Thread-safe as far as the archive is. ``now`` is the time by which lags are measured."""

    def __init__(
        self,
        archive: Archive,
        metrics: ArchiverMetrics,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._archive = archive
        self._metrics = metrics
        self._now = now
        self._oldest: datetime | None = None
        metrics.oldest_seconds.set_function(self._waiting)

    def create(self) -> None:
        try:
            self._archive.create()
        except StoreUnavailable:
            self._metrics.up.set(0)
            raise
        # That tables are there does not make it writable again.
        if self._oldest is None:
            self._metrics.up.set(1)

    def add(self, letters: Sequence[DeadLetter]) -> int:
        wanted = [letter for letter in letters if not _heartbeat(letter)]
        self._metrics.heartbeats_dropped.inc(len(letters) - len(wanted))
        if not wanted:
            return 0
        self._oldest = min(letter.dead_at for letter in wanted)
        started = time.monotonic()
        try:
            new = self._archive.add(wanted)
        except StoreUnavailable:
            self._metrics.up.set(0)
            self._metrics.failures.inc()
            raise
        self._count(wanted, time.monotonic() - started)
        return new

    def _count(self, letters: Sequence[DeadLetter], seconds: float) -> None:
        metrics, now = self._metrics, self._now()
        self._oldest = None
        metrics.up.set(1)
        metrics.commit_seconds.observe(seconds)
        metrics.batch_letters.observe(len(letters))
        for each in letters:
            metrics.letters.labels(channel(each.channel), reason(each.reason)).inc()
            metrics.lag_seconds.observe(max(0.0, (now - each.dead_at).total_seconds()))

    def _waiting(self) -> float:
        oldest = self._oldest
        return 0.0 if oldest is None else max(0.0, (self._now() - oldest).total_seconds())


def _heartbeat(letter: DeadLetter) -> bool:
    """One that died on its way is no notification that anybody waits for."""
    return is_heartbeat(letter.headers, letter.id, letter.channel, letter.recipient)
