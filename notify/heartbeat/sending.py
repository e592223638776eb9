"""Publishing heartbeats, and seeing what became of them."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from notify.broker import Publisher
from notify.errors import NotifyError
from notify.heartbeat.values import KEPT, heartbeat
from notify.ledger import Ledger
from notify.message import encode
from notify.metrics import ExporterMetrics
from notify.publishcount import outcome
from notify.telemetry import event
from notify.topology import EXCHANGE

log = logging.getLogger(__name__)

Queue = tuple[str, str]
"""Channel and priority."""
# Six of them must not hold up the one who looks after all else.
_PATIENCE: Final = 3.0


class Pulse:
    """The heartbeats of all queues. For one thread.

    A queue without a consumer gets none: they would pile up and tell nothing new.
    """

    def __init__(
        self,
        queues: Sequence[Queue],
        publisher: Publisher,
        ledger: Ledger,
        metrics: ExporterMetrics,
        *,
        every: float,
    ) -> None:
        self._queues = tuple(queues)
        self._publisher = publisher
        self._ledger = ledger
        self._metrics = metrics
        self._every = every
        self._under_way: dict[str, tuple[Queue, datetime]] = {}
        for queue in self._queues:
            metrics.heartbeat_success.labels(*queue)

    def beat(self, consumers: Mapping[Queue, int]) -> None:
        """Publishes one to each queue that is not known to be without a consumer.

        Raises ``LedgerUnavailable``: nothing would be delivered now.
        """
        now = self._ledger.now()
        for queue in self._queues:
            done = self._publish(queue, now) if consumers.get(queue, 1) else "no_consumer"
            self._metrics.heartbeats_sent.labels(*queue, done).inc()

    def _publish(self, queue: Queue, now: datetime) -> str:
        envelope = heartbeat(*queue, now, self._every)
        try:
            self._publisher.publish(EXCHANGE, encode(envelope, now=now), timeout=_PATIENCE)
        except NotifyError as error:
            log.warning(
                "heartbeat not published", extra=event(queue=".".join(queue), why=str(error))
            )
            return outcome(error)
        self._under_way.setdefault(envelope.notification.id, (queue, now))
        return outcome(None)

    def look(self) -> None:
        """Notes which have been settled. Raises ``LedgerUnavailable``."""
        oldest = self._ledger.now() - timedelta(seconds=KEPT)
        for id, (queue, published) in list(self._under_way.items()):
            record = self._ledger.record(id)
            if record is not None and record.state == "sent":
                self._note(queue, published, record.changed_at)
            elif published > oldest:
                continue
            with suppress(KeyError):
                del self._under_way[id]

    def _note(self, queue: Queue, published: datetime, settled: datetime) -> None:
        took = max(0.0, (settled - published).total_seconds())
        self._metrics.heartbeat_seconds.labels(*queue).observe(took)
        self._metrics.heartbeat_success.labels(*queue).set(settled.timestamp())
