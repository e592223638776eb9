"""One connection to RabbitMQ that consumes the queue of the dead. Everything pika is here.

Whatever goes wrong with the connection, channel or consumer is ``BrokerUnavailable``; the
messages that were not acknowledged are then back in the queue.
"""

import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import pika
from pika.exceptions import AMQPError, ChannelClosedByBroker, ChannelError, ReentrancyError

from notify.archiver.decoding import tolerate_any_table
from notify.certificates import distrust, verifying
from notify.deadletter import DeadLetter, read
from notify.errors import BrokerUnavailable
from notify.telemetry import event

log = logging.getLogger(__name__)

_BLOCKED: Final = 30.0
_NOT_FOUND: Final = 404
# AssertionError: pika's own checks fail when a connection is lost at an awkward moment.
_LOST: Final = (AMQPError, ChannelError, ReentrancyError, OSError, AssertionError)


class Broker(Protocol):
    """What of the broker's settings is used."""

    @property
    def urls(self) -> Sequence[str]: ...

    @property
    def heartbeat(self) -> int: ...

    @property
    def connect_timeout(self) -> float: ...

    @property
    def ca_file(self) -> str | None: ...


class QueueMissing(BrokerUnavailable):
    """The queue of the dead does not exist: declare the topology."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A dead letter, what to acknowledge it by, and when it came (monotonic)."""

    tag: int
    letter: DeadLetter
    at: float


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ChannelClosedByBroker as error:
        kind = QueueMissing if error.reply_code == _NOT_FOUND else BrokerUnavailable
        raise kind(error.reply_text) from error
    except _LOST as error:
        raise BrokerUnavailable(str(error) or type(error).__name__) from error


class Consumer:
    """Holds at most ``prefetch`` letters that are not acknowledged."""

    def __init__(self, connection: pika.BlockingConnection, queue: str, prefetch: int) -> None:
        self.arrivals: deque[Arrival] = deque()
        self._connection = connection
        self._queue = queue
        self._prefetch = prefetch
        self._cancelled = False
        with _translated():
            self._channel = self._open()

    def _open(self) -> Any:
        channel = self._connection.channel()
        channel.basic_qos(prefetch_count=self._prefetch)
        channel.add_on_cancel_callback(self._on_cancel)
        channel.basic_consume(self._queue, self._on_message)
        return channel

    def poll(self, seconds: float) -> None:
        """Waits for letters at most so long; also answers heartbeats."""
        with _translated():
            self._connection.process_data_events(time_limit=seconds)
        if self._cancelled:
            raise BrokerUnavailable("the broker cancelled the consumer")
        if not self._channel.is_open:
            raise BrokerUnavailable("the broker closed the channel")

    def renew(self) -> None:
        """Consumes on a new channel. Only while nothing that arrived waits to be acknowledged.

        Where a queue is deleted and declared again at once, RabbitMQ 3.10 sends no
        cancellation: it counts the new queue's messages as delivered to the old consumer,
        to which they never come, until its channel closes.
        """
        with _translated():
            self._channel.close()
            self._channel = self._open()

    def acknowledge(self, tag: int) -> None:
        """All letters up to this one."""
        with _translated():
            self._channel.basic_ack(tag, multiple=True)

    def wake(self) -> None:
        """Ends a poll, from any thread."""
        with suppress(*_LOST):
            self._connection.add_callback_threadsafe(lambda: None)

    def close(self) -> None:
        """What was not acknowledged goes back to the queue."""
        with suppress(*_LOST):
            self._connection.close()

    def _on_cancel(self, _: Any) -> None:
        self._cancelled = True

    def _on_message(self, _: Any, method: Any, properties: Any, body: bytes) -> None:
        letter = read(
            body=body,
            headers=_headers(method, properties),
            content_type=properties.content_type,
            routing_key=str(method.routing_key),
            now=datetime.now(UTC),
        )
        self.arrivals.append(Arrival(tag=method.delivery_tag, letter=letter, at=time.monotonic()))


def _headers(method: Any, properties: Any) -> Mapping[str, Any]:
    """The headers and, as one of them, what else came with the message."""
    others = {name: value for name, value in vars(properties).items() if value is not None}
    headers = others.pop("headers", None) or {}
    others |= {"exchange": method.exchange, "routing_key": method.routing_key}
    return {**headers, "amqp": others}


def connect(broker: Broker, queue: str, prefetch: int) -> Consumer:
    """Through the first of the broker's URLs that works. Raises ``BrokerUnavailable``."""
    tolerate_any_table()
    problems, untrusted = [], []
    for url in broker.urls:
        try:
            found = _connect(url, broker, partial(Consumer, queue=queue, prefetch=prefetch))
        except QueueMissing:
            raise
        except BrokerUnavailable as error:
            if problem := distrust(error, _place(url)):
                untrusted.append(problem)
            problems.append(problem or f"{_place(url)}: {error}")
        else:
            for problem in untrusted:
                log.warning("broker not trusted", extra=event(problem=problem))
            return found
    raise BrokerUnavailable("; ".join(problems))


def _connect(url: str, broker: Broker, consume: partial[Consumer]) -> Consumer:
    with _translated():
        connection = pika.BlockingConnection(_parameters(url, broker))
    try:
        return consume(connection)
    except BrokerUnavailable:
        with suppress(*_LOST):
            connection.close()
        raise


def _parameters(url: str, broker: Broker) -> pika.URLParameters:
    parameters = pika.URLParameters(url)
    if parameters.ssl_options is not None:
        # A URL could ask for less.
        parameters.ssl_options = pika.SSLOptions(verifying(broker.ca_file))
    parameters.heartbeat = broker.heartbeat
    parameters.socket_timeout = broker.connect_timeout
    # Everything up to the broker's last word in the handshake.
    parameters.stack_timeout = broker.connect_timeout * 2
    parameters.blocked_connection_timeout = _BLOCKED
    parameters.connection_attempts = 1
    parameters.client_properties = {"connection_name": "notify-archiver"}
    return parameters


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or ''}".rstrip(":")
