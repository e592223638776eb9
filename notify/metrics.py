"""What a worker counts, for Prometheus. Label values come from the configuration and from
closed sets: never from a notification."""

import logging
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from notify.telemetry import event

log = logging.getLogger(__name__)

# From a hit on the first attempt to the longest horizon that is shipped.
_DELIVERY: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 86400)
_ATTEMPT: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_TURN: Final = (0.001, 0.01, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600)


class Metrics:
    """The numbers of one worker process."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        queue = ["channel", "priority"]
        self.attempts = Counter(
            "notify_attempts",
            "Notifications offered to a provider, by what came of it",
            [*queue, "provider", "outcome", "reason"],
            registry=registry,
        )
        self.notifications = Counter(
            "notify_notifications",
            "Messages handled, by what was done with the notification",
            [*queue, "done", "reason"],
            registry=registry,
        )
        self.attempt_seconds = Histogram(
            "notify_attempt_seconds",
            "How long one attempt took",
            ["channel", "provider"],
            buckets=_ATTEMPT,
            registry=registry,
        )
        self.delivery_seconds = Histogram(
            "notify_delivery_seconds",
            "From publishing (or replaying) a notification until a provider took it",
            queue,
            buckets=_DELIVERY,
            registry=registry,
        )
        self.turn_seconds = Histogram(
            "notify_turn_seconds",
            "How long notifications waited for their turn with a provider",
            queue,
            buckets=_TURN,
            registry=registry,
        )
        self.sending = Gauge("notify_sending", "Sends under way", queue, registry=registry)
        self.paused = Gauge(
            "notify_paused", "1 while nothing is consumed on purpose", queue, registry=registry
        )
        self.breaker_open = Gauge(
            "notify_breaker_open",
            "1 while a provider counts as down",
            ["channel", "provider"],
            registry=registry,
        )
        build = Gauge("notify_build_info", "Always 1", ["version"], registry=registry)
        build.labels(version("notify-pipeline")).set(1)

    def serve(self, address: str, port: int) -> None:
        """Answers ``GET /metrics`` from now on; without a port, or where it is taken, not.

        A port that is taken is no reason to deliver nothing.
        """
        if not port:
            return
        try:
            start_http_server(port, addr=address, registry=self.registry)
        except OSError as error:
            log.warning("no metrics", extra=event(port=port, why=error.strerror))
