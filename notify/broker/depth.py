"""Ready messages and consumers of queues, asked by passive declaration, which is exact.

The management API tells the same some seconds later.
"""

from collections.abc import Sequence
from typing import Any

from notify.broker.channel import LOST, drop, first_that_answers, translated
from notify.errors import BrokerUnavailable


def consumers(
    urls: Sequence[str], queues: Sequence[str], *, timeout: float, trusted: str | None = None
) -> dict[str, int]:
    """How many consumers each queue has. Raises ``BrokerUnavailable``."""
    connection = first_that_answers(urls, timeout, trusted)
    try:
        with translated("cannot ask for consumers"):
            channel = connection.channel()
            asked = {name: channel.queue_declare(name, passive=True) for name in queues}
            return {name: int(answer.consumer_count) for name, answer in asked.items()}
    finally:
        drop(connection)


class Depth:
    """The ready messages of one queue, over a connection that is kept. For one thread."""

    def __init__(
        self, urls: Sequence[str], queue: str, *, timeout: float, trusted: str | None = None
    ) -> None:
        self._urls = tuple(urls)
        self._queue = queue
        self._timeout = timeout
        self._trusted = trusted
        self._connection: Any = None
        self._channel: Any = None

    def ready(self) -> int | None:
        """The number of ready messages; None where the broker or the queue does not answer."""
        try:
            if self._channel is None:
                self._open()
            return int(self._channel.queue_declare(self._queue, passive=True).message_count)
        except (*LOST, BrokerUnavailable):
            self.close()
            return None

    def close(self) -> None:
        if self._connection is not None:
            drop(self._connection)
        self._connection = self._channel = None

    def _open(self) -> None:
        self._connection = first_that_answers(self._urls, self._timeout, self._trusted)
        self._channel = self._connection.channel()
