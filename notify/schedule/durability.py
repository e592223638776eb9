"""Whether Redis has on its disk what was just written to it."""

from typing import Any, Final

from redis import RedisError

from notify.errors import LedgerUnavailable

# https://redis.io/docs/latest/commands/waitaof/
_SINCE: Final = (7, 2)
YES: Final = "yes"
SOON: Final = "soon"
NO: Final = "no"


def until_durable(server: Any, probe: str, *, timeout: float) -> str:
    """Waits for the disk: "yes"; "soon", where the server writes but cannot be waited for; "no"
    without an append-only file. ``probe`` is a key that is ours to write.

    Raises ``LedgerUnavailable`` where the disk is not reached within ``timeout`` seconds.
    """
    if not appends(server):
        return NO
    if _version(server) < _SINCE:
        return SOON
    # The file is written in the order of the commands: a later one of this connection will do.
    with server.pipeline(transaction=False) as pipe:
        pipe.set(probe, 1, ex=60)
        pipe.execute_command("WAITAOF", 1, 0, int(timeout * 500))
        _, answer = pipe.execute()
    if not int(answer[0]):
        raise LedgerUnavailable("Redis: what was written did not reach its disk in time")
    return YES


def appends(server: Any) -> bool:
    """A server that does not tell is managed by somebody who has seen to it."""
    try:
        return bool(server.config_get("appendonly").get("appendonly") != "no")
    except RedisError:
        return True


def _version(server: Any) -> tuple[int, int]:
    major, minor = str(server.info("server")["redis_version"]).split(".")[:2]
    return int(major), int(minor)
