"""Connections to RabbitMQ: for publishing, declaring and looking."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import amqp
from amqp.exceptions import AMQPError
from kombu.exceptions import KombuError

from notify.broker.encrypted import Broker, Untrusted
from notify.errors import BrokerUnavailable, BrokerUntrusted
from notify.telemetry import event

log = logging.getLogger(__name__)

# py-amqp reports a lost connection in any of these ways.
LOST: Final = (OSError, AMQPError, KombuError, AttributeError, KeyError)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turns what py-amqp raises about a broken connection into ``BrokerUnavailable``."""
    try:
        yield
    except Untrusted as error:
        raise BrokerUntrusted(f"RabbitMQ: {doing}: {error}") from error
    except LOST as error:
        # The text of an error may hold the URL with its password: only its kind is told.
        kind = getattr(error, "reply_text", "") or type(error).__name__
        raise BrokerUnavailable(f"RabbitMQ: {doing}: {kind}") from error


def connect(
    url: str,
    *,
    connect_timeout: float,
    read_timeout: float,
    trusted: str | None = None,
    **options: Any,
) -> amqp.Connection:
    """A connection for publishing or declaring. Raises ``BrokerUnavailable``.

    Over TLS the server must have a certificate for the URL's host: of those ``trusted`` (PEM)
    or, without any, of those that this machine trusts.

    It has no AMQP heartbeat, as nothing would send it between two publishes; every read and
    write is bounded instead. Kombu only reads the URL: its own connection tries again after
    two seconds, and opens a new one unasked where the first is lost.
    """
    settings = Broker(
        url,
        heartbeat=0,
        connect_timeout=connect_timeout,
        transport_options={
            "confirm_publish": False,
            "read_timeout": read_timeout,
            "write_timeout": read_timeout,
            "trusted": trusted,
            **options,
        },
    )
    with translated("cannot connect"):
        return settings.transport.establish_connection()


def drop(connection: amqp.Connection) -> None:
    """Closes a connection's socket at once."""
    connection.collect()


def first_that_answers(
    urls: Sequence[str], timeout: float, trusted: str | None = None
) -> amqp.Connection:
    """A connection to the first of ``urls`` that answers. Raises ``BrokerUnavailable``."""
    failed: list[BrokerUnavailable] = []
    for url in urls:
        try:
            found = connect(url, connect_timeout=timeout, read_timeout=timeout, trusted=trusted)
        except BrokerUnavailable as error:
            failed.append(error)
        else:
            tell_untrusted(failed)
            return found
    raise summed(failed)


def summed(failed: Sequence[BrokerUnavailable]) -> BrokerUnavailable:
    """What is raised where no URL would do: the last error, and whom we did not trust."""
    if not failed:
        return BrokerUnavailable("no broker URL is configured")
    if any(isinstance(error, BrokerUntrusted) for error in failed):
        return BrokerUntrusted("; ".join(dict.fromkeys(map(str, failed))))
    return failed[-1]


def tell_untrusted(failed: Sequence[BrokerUnavailable]) -> None:
    """Logs whom we did not trust, where another one is used instead and nothing is raised."""
    for error in failed:
        if isinstance(error, BrokerUntrusted):
            log.warning("broker not trusted", extra=event(problem=str(error)))
