"""A lock and a status in Redis, so that a copy of a message is not sent again."""

from collections.abc import Callable

import redis

from benching.peers import settings

_redis = redis.Redis.from_url(settings.told(settings.REDIS, "redis://127.0.0.1:6379/0"))
_PREFIX = settings.told(settings.PREFIX)


def once(id: str, send: Callable[[], None]) -> None:
    """Sends unless it was sent before, and notes what became of it."""
    key = f"{_PREFIX}:{id}"
    with _redis.lock(f"{key}:lock", timeout=settings.LOCK_SECONDS, blocking_timeout=0):
        if _redis.hget(key, "status") == b"sent":
            return
        _redis.hset(key, mapping={"status": "sending"})
        send()
        with _redis.pipeline() as pipe:
            pipe.hset(key, mapping={"status": "sent"})
            pipe.expire(key, settings.KEEP)
            pipe.execute()
