"""One connection with one channel in confirm mode that knows which publish was confirmed.

py-amqp takes any acknowledgement as the confirm of the latest publish, so a late one would
confirm the wrong message. Here each publish has its delivery tag, and a channel that failed
once is never used again.
"""

import errno
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import amqp
from amqp.exceptions import AMQPError, NotFound
from kombu.connection import Connection
from kombu.exceptions import KombuError

from notify.errors import (
    BrokerBlocked,
    BrokerUnavailable,
    NotifyError,
    QueueFull,
    Unroutable,
)
from notify.message import Message

# py-amqp reports a lost connection in any of these ways.
LOST: Final = (OSError, AMQPError, KombuError, AttributeError, KeyError)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turns what py-amqp raises about a broken connection into ``BrokerUnavailable``."""
    try:
        yield
    except LOST as error:
        # The text of an error may hold the URL with its password: only its kind is told.
        kind = getattr(error, "reply_text", "") or type(error).__name__
        raise BrokerUnavailable(f"RabbitMQ: {doing}: {kind}") from error


def connect(
    url: str, *, connect_timeout: float, read_timeout: float, **options: Any
) -> amqp.Connection:
    """A connection for publishing or declaring. Raises ``BrokerUnavailable``.

    It has no AMQP heartbeat, as nothing would send it between two publishes; every read and
    write is bounded instead. Kombu only reads the URL: its own connection tries again after
    two seconds, and opens a new one unasked where the first is lost.
    """
    settings = Connection(
        url,
        heartbeat=0,
        connect_timeout=connect_timeout,
        transport_options={
            "confirm_publish": False,
            "read_timeout": read_timeout,
            "write_timeout": read_timeout,
            **options,
        },
    )
    with translated("cannot connect"):
        return settings.transport.establish_connection()


def drop(connection: amqp.Connection) -> None:
    """Closes a connection's socket at once."""
    connection.collect()


def first_that_answers(urls: Sequence[str], timeout: float) -> amqp.Connection:
    """A connection to the first of ``urls`` that answers. Raises ``BrokerUnavailable``."""
    error: BrokerUnavailable | None = None
    for url in urls:
        try:
            return connect(url, connect_timeout=timeout, read_timeout=timeout)
        except BrokerUnavailable as failed:
            error = failed
    raise error or BrokerUnavailable("no broker URL is configured")


class ConfirmChannel:
    """Publishes and matches confirms by delivery tag. For one thread at a time."""

    def __init__(self, url: str, *, connect_timeout: float, read_timeout: float) -> None:
        self.opened = self.last_used = time.monotonic()
        self.blocked: str | None = None
        self.results: dict[str, NotifyError | None] = {}
        self._tags: dict[int, str] = {}
        self._returned: dict[str, str] = {}
        self._last_tag = 0
        self._connection = connect(
            url,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            on_blocked=self._on_blocked,
            on_unblocked=self._on_unblocked,
        )
        self._channel = self._open(connect_timeout)
        self._channel.events["basic_ack"].add(self._on_ack)
        self._channel.events["basic_nack"].add(self._on_nack)
        self._channel.events["basic_return"].add(self._on_return)

    def _open(self, timeout: float) -> Any:
        try:
            with translated("cannot open a channel"):
                self._connection.transport.sock.settimeout(timeout)
                channel = self._connection.channel()
                channel.confirm_select()
                # From here on each wait has its own deadline.
                self._connection.transport.sock.settimeout(None)
        except BrokerUnavailable:
            self.drop()
            raise
        return channel

    @property
    def outstanding(self) -> int:
        return len(self._tags)

    def publish(self, exchange: str, message: Message) -> str:
        """Hands a message to the socket; returns the token under which its result appears."""
        with translated("connection lost while publishing"):
            self._channel.basic_publish(
                amqp.Message(
                    message.body, application_headers=message.headers, **message.properties
                ),
                exchange=exchange,
                routing_key=message.routing_key,
                mandatory=True,
            )
        self._last_tag += 1
        self._tags[self._last_tag] = message.token
        return message.token

    def wait(self, deadline: float) -> bool:
        """Reads from the broker until something happens; False when the time is over.

        ``deadline`` is in ``time.monotonic`` seconds.
        """
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return False
        try:
            self._connection.drain_events(timeout=remaining)
        except TimeoutError as error:
            # The kernel's own ETIMEDOUT has the same type: there the connection is gone.
            if error.errno == errno.ETIMEDOUT:
                raise BrokerUnavailable("RabbitMQ: connection timed out") from error
            return False
        except NotFound as error:
            raise Unroutable(f"RabbitMQ: {error.reply_text}; declare the topology") from error
        except LOST as error:
            raise BrokerUnavailable(f"RabbitMQ: connection lost: {type(error).__name__}") from error
        return True

    def late(self) -> NotifyError | None:
        """The error that explains why no confirm came, where it is known."""
        if self.blocked is None:
            return None
        return BrokerBlocked(f"RabbitMQ does not take messages: {self.blocked}")

    def alive(self) -> bool:
        """Reads what has come in meanwhile; False when the broker closed the connection."""
        try:
            while True:
                self._connection.drain_events(timeout=0)
        except TimeoutError as error:
            return error.errno != errno.ETIMEDOUT
        except LOST:
            return False

    def drop(self) -> None:
        """Closes the socket without a word to the broker, which may not answer."""
        drop(self._connection)

    def close(self) -> None:
        """Says good-bye to the broker, and waits a second for its answer at most."""
        try:
            self._connection.transport.sock.settimeout(1.0)
            self._connection.close()
        except LOST:
            self.drop()

    def _on_ack(self, tag: int, multiple: bool) -> None:
        for token in self._settle(tag, multiple):
            text = self._returned.pop(token, None)
            self.results[token] = None if text is None else Unroutable(text)

    def _on_nack(self, tag: int, multiple: bool) -> None:
        for token in self._settle(tag, multiple):
            self.results[token] = QueueFull()

    def _settle(self, tag: int, multiple: bool) -> list[str]:
        if not multiple:
            token = self._tags.pop(tag, None)
            return [] if token is None else [token]
        # Tags are inserted in ascending order, so the confirmed ones come first.
        tags = []
        for known in self._tags:
            if known > tag:
                break
            tags.append(known)
        return [self._tags.pop(known) for known in tags]

    def _on_return(self, _error: Any, exchange: str, routing_key: str, message: Any) -> None:
        # The broker returns a message before it acknowledges it.
        token = message.properties.get("correlation_id", "")
        self._returned[token] = f"no queue is bound to {exchange!r} for {routing_key!r}"

    def _on_blocked(self, reason: str) -> None:
        self.blocked = reason

    def _on_unblocked(self) -> None:
        self.blocked = None
