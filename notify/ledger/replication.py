"""How many replicas must have a claim before anything is sent under it.

Redis replicates asynchronously: a claim that only the primary has is lost when the primary is,
and the message would be sent a second time. ``WAIT`` makes that unlikely, not impossible
(https://redis.io/docs/latest/commands/wait/); the marker tells when it happened all the same.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import redis

_LOOK_EVERY: Final = 5.0


class Replication:
    """``wanted`` is a number of replicas, or None: one, while the server has any."""

    def __init__(
        self,
        server: redis.Redis,
        wanted: int | None,
        *,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._wanted = wanted
        self._timeout = timeout
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

    def run(self, script: Any, keys: list[str], arguments: list[Any]) -> tuple[Any, int]:
        """Runs a script and waits for replicas: its answer, and how many replicas lack.

        One round trip. ``WAIT`` counts the writes of its own connection only, so both go
        over the same one.
        """
        wanted = self.awaited()
        if not wanted:
            return script(keys=keys, args=arguments), 0
        answer, have = self._both(script, keys, arguments, wanted)
        if isinstance(answer, redis.exceptions.NoScriptError):
            self._server.script_load(script.script)
            answer, have = self._both(script, keys, arguments, wanted)
        for value in (answer, have):
            if isinstance(value, redis.RedisError):
                raise value
        return answer, max(0, wanted - have)

    def _both(
        self, script: Any, keys: list[str], arguments: list[Any], wanted: int
    ) -> tuple[Any, Any]:
        with self._server.pipeline(transaction=False) as both:
            both.evalsha(script.sha, len(keys), *keys, *arguments)
            both.execute_command("WAIT", wanted, int(self._timeout * 1000))
            answers = both.execute(raise_on_error=False)
        return answers[0], answers[1]
