"""How many messages are ready in one queue, asked over a connection of its own."""

from collections.abc import Sequence
from typing import Any

from notify.broker.channel import LOST, connect, drop
from notify.errors import BrokerUnavailable


class Depth:
    """Asks by passive declaration, which is exact. For one thread."""

    def __init__(self, urls: Sequence[str], queue: str, *, timeout: float) -> None:
        self._urls = tuple(urls)
        self._queue = queue
        self._timeout = timeout
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
        for url in self._urls:
            try:
                self._connection = connect(
                    url, connect_timeout=self._timeout, read_timeout=self._timeout
                )
                break
            except BrokerUnavailable:
                continue
        else:
            raise BrokerUnavailable
        self._channel = self._connection.channel()
