"""Connections to Redis, and its errors as ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.connection import PythonRespSerializer
from redis.retry import Retry

from notify.errors import LedgerUnavailable

# Any number of threads may want one at once.
_CONNECTIONS: Final = 2**31
# Longer values are not copied together.
_CUTOFF: Final = 6000


def open_redis(url: str, timeout: float, *, errors: str = "strict") -> redis.Redis:
    """A thread-safe client; every wait for the server ends after ``timeout`` seconds.

    ``errors`` is what happens to bytes that are not UTF-8, as in ``bytes.decode``.

    It repeats nothing by itself: a claim that was repeated unseen would meet itself as
    another's, and what is counted would be counted twice.
    """
    client = redis.Redis.from_url(
        url,
        decode_responses=True,
        encoding_errors=errors,
        max_connections=_CONNECTIONS,
        health_check_interval=10,
        **_bounds(timeout),
    )
    # The faster one knows no ``errors``: what was read could not be written back.
    packer = PythonRespSerializer(_CUTOFF, client.get_encoder().encode)
    client.connection_pool.connection_kwargs["command_packer"] = packer
    return client


def open_connection(url: str, timeout: float) -> redis.Connection:
    """One connection, ready for commands, that answers in the older form of the protocol.

    Raises what Redis raises.
    """
    pool = redis.ConnectionPool.from_url(url, protocol=2, **_bounds(timeout))
    connection: redis.Connection = pool.connection_class(**pool.connection_kwargs)
    connection.connect()
    return connection


def _bounds(timeout: float) -> dict[str, Any]:
    return {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),
    }


@contextmanager
def translated() -> Iterator[None]:
    """Raises ``LedgerUnavailable`` for whatever Redis raises, without what it quotes."""
    try:
        yield
    except redis.RedisError as error:
        raise unavailable(error) from error


def unavailable(error: Exception) -> LedgerUnavailable:
    """Says what kind of error it was."""
    # A server's refusal starts with its kind (OOM, READONLY, NOAUTH); the rest may
    # quote a command with its values.
    word = str(error).partition(" ")[0]
    kind = word if word.isupper() else type(error).__name__
    return LedgerUnavailable(f"Redis: {kind}")
