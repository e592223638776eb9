"""The stored schedules: add, list, remove."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from celery import Celery
from redbeat import RedBeatSchedulerEntry
from redbeat.schedulers import get_redis
from redis import RedisError

from notify.app import make_app
from notify.config import Settings
from notify.errors import InvalidInput, LedgerUnavailable, NotFound
from notify.message import TASK
from notify.notification import Notification
from notify.schedule.timing import Timing

# RedBeat's own keys share the prefix with the names: none of those is a valid name.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# The lock outlives a few ticks; RedBeat wants five times the loop interval at least.
LOOP_INTERVAL: Final = 1.0
LOCK_TIMEOUT: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A stored schedule and when it fires next."""

    name: str
    timing: str
    next_at: datetime | None
    notification: Notification


def beat_app(settings: Settings, *, patience: int = 10) -> Celery:
    """A Celery application with every RedBeat option set, so that none is borrowed.

    For ``patience`` seconds RedBeat tries again where Redis does not answer.
    """
    app = make_app(settings)
    redis = settings.redis
    app.conf.update(
        redbeat_redis_url=redis.url,
        redbeat_redis_use_ssl=None,
        redbeat_redis_options={
            "socket_timeout": redis.timeout,
            "socket_connect_timeout": redis.timeout,
            "retry_period": patience,
        },
        redbeat_key_prefix=f"{redis.prefix}:beat:",
        redbeat_lock_key=f"{redis.prefix}:beat::lock",
        redbeat_lock_timeout=LOCK_TIMEOUT,
        beat_max_loop_interval=LOOP_INTERVAL,
    )
    return app


class Schedules:
    """The schedules in Redis. Methods raise ``LedgerUnavailable`` without it."""

    def __init__(self, settings: Settings) -> None:
        # A person waits for the answer.
        self._app = beat_app(settings, patience=0)

    def add(self, name: str, timing: Timing, notification: Notification) -> None:
        """Stores a schedule. Raises ``InvalidInput`` for a bad name, or one in use."""
        if not _NAME.fullmatch(name):
            raise InvalidInput("name: must be 1 to 64 lower-case letters, digits, '_' or '-'")
        with _translated():
            if self._redis.exists(self._key(name)):
                raise InvalidInput(f"name: there is a schedule {name!r}; remove it first")
            self._entry(name, timing, notification).save()

    def list(self) -> list[Planned]:
        """Every schedule, soonest first."""
        with _translated():
            keys = self._redis.zrange(self._app.redbeat_conf.schedule_key, 0, -1, withscores=True)
            return [self._planned(key, score) for key, score in keys]

    def remove(self, name: str) -> None:
        """Raises ``NotFound``."""
        with _translated():
            if not self._redis.exists(self._key(name)):
                raise NotFound(f"there is no schedule {name!r}")
            self._redis.zrem(self._app.redbeat_conf.schedule_key, self._key(name))
            self._redis.delete(self._key(name))

    def _entry(self, name: str, timing: Timing, notification: Notification) -> Any:
        # The notification is stored as text: RedBeat's decoder would interpret objects in it.
        return RedBeatSchedulerEntry(
            name=name,
            task=TASK,
            schedule=timing.to_celery(self._app),
            kwargs={"notification": json.dumps(notification.to_dict(), ensure_ascii=False)},
            options={"describe": timing.describe()},
            app=self._app,
        )

    def _planned(self, key: str, score: float) -> Planned:
        entry = RedBeatSchedulerEntry.from_key(key, app=self._app)
        return Planned(
            name=entry.name,
            timing=str(entry.options.get("describe", "")),
            next_at=datetime.fromtimestamp(score, UTC) if score >= 0 else None,
            notification=read_notification(entry),
        )

    @property
    def _redis(self) -> Any:
        return get_redis(self._app)

    def _key(self, name: str) -> str:
        return str(RedBeatSchedulerEntry.generate_key(self._app, name))


def read_notification(entry: Any) -> Notification:
    """The notification of a stored schedule."""
    return Notification.from_dict(json.loads(entry.kwargs["notification"]))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise LedgerUnavailable(f"Redis: {type(error).__name__}") from error
