"""What a beat publishes, counted by RabbitMQ's answer."""

from collections.abc import Iterable, Iterator
from typing import Protocol, Self

from notify.batch.outlet import Sender
from notify.config import Settings
from notify.errors import InvalidNotification
from notify.metrics import ProcessMetrics
from notify.notification import Notification
from notify.publish import Client, Sent
from notify.publishcount import outcome


class Outlet(Sender, Protocol):
    """A sender with connections of its own, as ``Client`` is."""

    def close(self) -> None: ...


class CountedClient:
    """Publishes many as ``Client`` does, and counts each when its answer is known.

    What is invalid is never given to RabbitMQ and not counted; neither is what a run that was
    broken off leaves without an answer: it is published, and counted, again.
    """

    def __init__(self, settings: Settings, metrics: ProcessMetrics) -> None:
        self._client = Client(settings)
        self._publishes = metrics.publishes

    def send_many(
        self, notifications: Iterable[Notification], *, window: int = 500
    ) -> Iterator[Sent]:
        """See ``Client.send_many``."""
        for sent in self._client.send_many(notifications, window=window):
            if not isinstance(sent.error, InvalidNotification):
                self._publishes.labels(outcome(sent.error)).inc()
            yield sent

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
