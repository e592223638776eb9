"""The archiver's life: connect, archive, and come back after whatever happened.

While the store is away nothing is consumed: the letters stay in RabbitMQ, where they are
safe, and are not delivered again and again. The batch that failed is what the store is
tried with, since a letter can be added any number of times.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from notify.archiver.commit import Archive, Commit
from notify.archiver.consumer import Broker, Consumer, QueueMissing, connect
from notify.archiver.pauses import Pauses, Stop
from notify.archiver.pipeline import NotStored, Pipeline
from notify.deadletter import DeadLetter
from notify.errors import BrokerUnavailable, StoreUnavailable
from notify.systemd import since
from notify.telemetry import event

log = logging.getLogger(__name__)

QUEUE: Final = "notify.dead"
CONNECTING: Final = "connecting to RabbitMQ"
_GRACE: Final = 1.5
_TICK: Final = 0.1


def _say_nothing(*_: str) -> None:
    """Report no status."""


class Archiver:
    """Moves what is in the queue of the dead into the archive until told to stop."""

    def __init__(
        self,
        broker: Broker,
        store: Archive,
        *,
        stop: Stop,
        batch_size: int = 500,
        batch_wait: float = 0.2,
        renew_after: float = 30.0,
        on_status: Callable[[str], None] = _say_nothing,
        on_turn: Callable[[], None] = _say_nothing,
    ) -> None:
        self._broker = broker
        self._store = store
        self._stop = stop
        self._size = batch_size
        self._wait = batch_wait
        self._renew_after = renew_after
        self._on_status = on_status
        self._on_turn = on_turn
        self._broker_pauses = Pauses()
        self._away: datetime | None = None

    def run(self) -> None:
        """Returns soon after the stop; letters not archived by then are in RabbitMQ."""
        self._wait_for_store(())
        while not self._stop.is_set():
            try:
                self._archive()
            except BrokerUnavailable as error:
                self._pause_for_broker(error)
            except NotStored as failure:
                self._report_store(str(failure))
                self._wait_for_store(failure.letters)
        self._on_status("stopped")

    def _archive(self) -> None:
        self._on_status(CONNECTING)
        consumer = connect(self._broker, QUEUE, prefetch=2 * self._size)
        try:
            log.info("archiver consuming", extra=event(queue=QUEUE))
            self._away = None
            self._on_status(f"archiving from {QUEUE}")
            self._archive_from(consumer)
        finally:
            consumer.close()

    def _archive_from(self, consumer: Consumer) -> None:
        pipeline = Pipeline(
            consumer,
            self._store,
            size=self._size,
            wait=self._wait,
            renew_after=self._renew_after,
            on_archived=self._broker_pauses.reset,
        )
        while not self._stop.is_set():
            pipeline.step()
            self._on_turn()
        pipeline.finish(_GRACE)

    def _pause_for_broker(self, error: BrokerUnavailable) -> None:
        pause = self._broker_pauses.next()
        missing = isinstance(error, QueueMissing)
        what = f"queue {QUEUE} is missing" if missing else "RabbitMQ is unavailable"
        log.warning(what, extra=event(problem=str(error), pause=round(pause, 1)))
        self._on_status(f"waiting {self._away_since()}: {what}; trying again")
        self._on_turn()
        self._stop.wait(pause)

    def _report_store(self, problem: str) -> None:
        log.error("archive is unavailable; letters stay in RabbitMQ", extra=event(problem=problem))
        self._on_status(f"waiting for the archive {self._away_since()}; letters stay in RabbitMQ")

    def _away_since(self) -> str:
        self._away = self._away or datetime.now(UTC)
        return since(self._away)

    def _wait_for_store(self, letters: Sequence[DeadLetter]) -> None:
        """Says once that the store is away, and once that it is back."""
        pauses, told = Pauses(), bool(letters)
        while not self._stop.is_set():
            self._on_turn()
            try:
                if self._try_store(letters) and told:
                    log.info("archive is available again", extra=event())
                return
            except StoreUnavailable as error:
                if not told:
                    self._report_store(str(error))
                told = True
                self._stop.wait(pauses.next())

    def _try_store(self, letters: Sequence[DeadLetter]) -> bool:
        """Whether the store works; ``False`` when told to stop before it is known."""

        def work() -> None:
            self._store.create()
            self._store.add(letters)

        commit = Commit(work, lambda: None)
        while not commit.wait(_TICK):
            self._on_turn()
            if self._stop.is_set():
                return False
        commit.result()
        return True
