"""What a worker counts."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import Gauge

from notify.metrics.children import Counter, Histogram
from notify.metrics.process import ProcessMetrics
from notify.outcomes import Reason

# From a hit on the first attempt to the longest horizon that is shipped.
_DELIVERY: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 86400)
_ATTEMPT: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_TURN: Final = (0.001, 0.01, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600)
_QUEUE: Final = ("channel", "priority")


class Metrics(ProcessMetrics):
    """The numbers of one worker process."""

    def __init__(self) -> None:
        super().__init__()
        self._count()
        self._measure()
        self._show()

    def begin(self, channel: str, priority: str, providers: Iterable[str]) -> None:
        """Shows zeros from the start: what first shows as one did not grow, to Prometheus."""
        queue = (channel, priority)
        for seconds in (self.delivery_seconds, self.queue_wait_seconds, self.turn_seconds):
            seconds.labels(*queue)
        for done in ("delivered", "skipped"):
            self.notifications.labels(*queue, done, "")
        for why in ("duplicate", "stale", "conflict", "busy", "unpublished"):
            self.claims_refused.labels(*queue, why)
        for done in ("settled", "expired", "dropped", "skipped", "late"):
            self.heartbeats.labels(*queue, done)
        self.handed_back.labels(*queue)
        for name in providers:
            self.attempts.labels(*queue, name, "sent", "")
            for reason in (Reason.CONNECTION_LOST, Reason.DEADLINE_PASSED):
                self.attempts.labels(*queue, name, "unknown", reason)

    def _count(self) -> None:
        self.attempts = Counter(
            "notify_attempts",
            "Notifications offered to a provider, by what came of it",
            [*_QUEUE, "provider", "outcome", "reason"],
            registry=self.registry,
        )
        self.notifications = Counter(
            "notify_notifications",
            "Messages handled, by what was done with the notification",
            [*_QUEUE, "done", "reason"],
            registry=self.registry,
        )
        self.claims_refused = Counter(
            "notify_claims_refused",
            "Messages that were not sent because the ledger knew better",
            [*_QUEUE, "why"],
            registry=self.registry,
        )
        self.handed_back = Counter(
            "notify_handed_back",
            "Messages given back to their queue, which RabbitMQ counts against them",
            [*_QUEUE],
            registry=self.registry,
        )
        self.heartbeats = Counter(
            "notify_heartbeats",
            "Heartbeats taken from the queue, by what was done with them",
            [*_QUEUE, "done"],
            registry=self.registry,
        )

    def _measure(self) -> None:
        self.attempt_seconds = Histogram(
            "notify_attempt_seconds",
            "How long one attempt took",
            ["channel", "provider"],
            buckets=_ATTEMPT,
            registry=self.registry,
        )
        self.delivery_seconds = Histogram(
            "notify_delivery_seconds",
            "From publishing (or replaying) a notification until a provider took it",
            _QUEUE,
            buckets=_DELIVERY,
            registry=self.registry,
        )
        self.queue_wait_seconds = Histogram(
            "notify_queue_wait_seconds",
            "From publishing (or replaying) a notification until a worker first took it",
            _QUEUE,
            buckets=_DELIVERY,
            registry=self.registry,
        )
        self.turn_seconds = Histogram(
            "notify_turn_seconds",
            "How long notifications waited for their turn with a provider",
            _QUEUE,
            buckets=_TURN,
            registry=self.registry,
        )

    def _show(self) -> None:
        self.sending = Gauge("notify_sending", "Sends under way", _QUEUE, registry=self.registry)
        self.held = Gauge(
            "notify_held",
            "Messages held because what was decided cannot be written or published",
            _QUEUE,
            registry=self.registry,
        )
        self.paused = Gauge(
            "notify_paused",
            "1 while nothing is consumed on purpose",
            _QUEUE,
            registry=self.registry,
        )
        self.breaker_open = Gauge(
            "notify_breaker_open",
            "1 while a provider counts as down",
            ["channel", "provider"],
            registry=self.registry,
        )
