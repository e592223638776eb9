"""How many replicas must have a claim before anything is sent under it.

Redis replicates asynchronously: a claim that only the primary has is lost when the primary is,
and the message would be sent a second time. ``WAIT`` makes that unlikely, not impossible
(https://redis.io/docs/latest/commands/wait/); the marker tells when it happened all the same.
"""

import time
from collections.abc import Callable
from typing import Final

import redis

_LOOK_EVERY: Final = 5.0


class Replication:
    """``wanted`` is a number of replicas, or None: one, while the server has any."""

    def __init__(
        self,
        server: redis.Redis,
        wanted: int | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._wanted = wanted
        self._clock = clock
        self._found = 0
        self._next_look = clock()

    def awaited(self) -> int:
        """How many replicas a claim waits for now."""
        if self._wanted is not None:
            return self._wanted
        if self._clock() >= self._next_look:
            self._next_look = self._clock() + _LOOK_EVERY
            self._found = min(1, self.connected())
        return self._found

    def connected(self) -> int:
        return int(self._server.info("replication")["connected_slaves"])
