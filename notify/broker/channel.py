"""Connections to RabbitMQ: for publishing, declaring and looking."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import amqp
from amqp.exceptions import AMQPError
from kombu.connection import Connection
from kombu.exceptions import KombuError

from notify.errors import BrokerUnavailable

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
