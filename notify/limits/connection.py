"""The Redis connection of the limits, and its scripts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from notify.errors import LedgerUnavailable

Script = Callable[[Sequence[str], Sequence[Any]], Any]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        # A server's refusal starts with its kind (OOM, READONLY, NOAUTH); the rest may
        # quote a command with its values.
        word = str(error).partition(" ")[0]
        kind = word if word.isupper() else type(error).__name__
        raise LedgerUnavailable(f"Redis: {kind}") from error


class Connection:
    """Runs scripts. Thread-safe.

    ``clock`` (epoch seconds) takes the place of the Redis server's clock: for tests of
    midnights and of long times.
    """

    def __init__(self, url: str, *, timeout: float, clock: Callable[[], float] | None) -> None:
        self._clock = clock
        self._redis = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            health_check_interval=10,
            # What was taken by a call that is repeated unseen would be taken twice.
            retry=Retry(NoBackoff(), 0),
        )

    def script(self, text: str) -> Script:
        """A script to call with keys and arguments, raising ``LedgerUnavailable``.

        Its first argument is the time in microseconds, empty for the server's own.
        """
        registered = self._redis.register_script(text)

        def run(keys: Sequence[str], arguments: Sequence[Any]) -> Any:
            now = "" if self._clock is None else micros(self._clock())
            with _translated():
                return registered(keys=list(keys), args=[now, *arguments])

        return run

    def close(self) -> None:
        self._redis.close()


def micros(seconds: float) -> int:
    """Whole microseconds, at least as long."""
    return -int(-seconds * 1e6 // 1)
