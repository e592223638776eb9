"""One way to Redis for all that is kept there: bounded waits, no repeats, one error."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from notify.errors import LedgerUnavailable


def open_redis(url: str, timeout: float, *, errors: str = "strict") -> redis.Redis:
    """A thread-safe client; every wait for the server ends after ``timeout`` seconds.

    ``errors`` is what happens to bytes that are not UTF-8, as in ``bytes.decode``.

    It repeats nothing by itself: a claim that was repeated unseen would meet itself as
    another's, and what is counted would be counted twice.
    """
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        encoding_errors=errors,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        health_check_interval=10,
        retry=Retry(NoBackoff(), 0),
    )


@contextmanager
def translated() -> Iterator[None]:
    """Raises ``LedgerUnavailable`` for whatever Redis raises, without what it quotes."""
    try:
        yield
    except redis.RedisError as error:
        # A server's refusal starts with its kind (OOM, READONLY, NOAUTH); the rest may
        # quote a command with its values.
        word = str(error).partition(" ")[0]
        kind = word if word.isupper() else type(error).__name__
        raise LedgerUnavailable(f"Redis: {kind}") from error
