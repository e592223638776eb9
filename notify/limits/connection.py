"""The Redis connection of the limits, and its scripts."""

from collections.abc import Callable, Sequence
from typing import Any

from notify.redisclient import open_redis, translated

Script = Callable[[Sequence[str], Sequence[Any]], Any]


class Connection:
    """Runs scripts. Thread-safe.

    ``clock`` (epoch seconds) takes the place of the Redis server's clock: for tests of
    midnights and of long times.
    """

    def __init__(self, url: str, *, timeout: float, clock: Callable[[], float] | None) -> None:
        self._clock = clock
        self._redis = open_redis(url, timeout)

    def script(self, text: str) -> Script:
        """A script to call with keys and arguments, raising ``LedgerUnavailable``.

        Its first argument is the time in microseconds, empty for the server's own.
        """
        registered = self._redis.register_script(text)

        def run(keys: Sequence[str], arguments: Sequence[Any]) -> Any:
            now = "" if self._clock is None else micros(self._clock())
            with translated():
                return registered(keys=list(keys), args=[now, *arguments])

        return run

    def close(self) -> None:
        self._redis.close()


def micros(seconds: float) -> int:
    """Whole microseconds, at least as long."""
    return -int(-seconds * 1e6 // 1)
