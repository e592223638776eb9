"""Publishers for the configured brokers, and counting what RabbitMQ answers to them."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from notify.broker import Publisher
from notify.config import Settings
from notify.errors import (
    BrokerBlocked,
    BrokerUnavailable,
    NotifyError,
    QueueFull,
    Unconfirmed,
    Unroutable,
)
from notify.message import Message
from notify.metrics import ProcessMetrics

# The first that fits.
_OUTCOMES: Final[tuple[tuple[type[NotifyError], str], ...]] = (
    (Unroutable, "unroutable"),
    (QueueFull, "refused"),
    (Unconfirmed, "unconfirmed"),
    (BrokerBlocked, "blocked"),
    (BrokerUnavailable, "unavailable"),
)


def open_publisher(settings: Settings, metrics: ProcessMetrics | None = None) -> Publisher:
    """A publisher for the configured brokers; it connects when it first publishes.

    ``metrics`` counts what RabbitMQ answers.
    """
    broker = settings.broker
    kind = Publisher if metrics is None else partial(CountedPublisher, metrics=metrics)
    return kind(
        broker.urls,
        connect_timeout=broker.connect_timeout,
        confirm_timeout=broker.confirm_timeout,
        trusted=broker.ca_file,
    )


def outcome(error: NotifyError | None) -> str:
    """The value of the label for a publish that ended so."""
    if error is None:
        return "confirmed"
    return next((name for kind, name in _OUTCOMES if isinstance(error, kind)), "failed")


class CountedPublisher(Publisher):
    """A publisher that counts; what goes to a queue of its own process (a probe) is not counted."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        connect_timeout: float,
        confirm_timeout: float,
        trusted: str | None = None,
        metrics: ProcessMetrics,
    ) -> None:
        super().__init__(
            urls,
            connect_timeout=connect_timeout,
            confirm_timeout=confirm_timeout,
            trusted=trusted,
        )
        self._metrics = metrics

    def publish(self, exchange: str, message: Message, *, timeout: float | None = None) -> None:
        try:
            super().publish(exchange, message, timeout=timeout)
        except NotifyError as error:
            self._count(exchange, error)
            raise
        self._count(exchange, None)

    def _count(self, exchange: str, error: NotifyError | None) -> None:
        if exchange:
            self._metrics.publishes.labels(outcome(error)).inc()
