"""A stored schedule as one of RedBeat's entries.

What RedBeat's own entry does and this one does not, because it would lose or repeat runs:

- Its payload is text to RedBeat, whose decoder would make objects of whatever looks like one.
- ``due_at`` follows the planned instants, in the schedule's zone; RedBeat adds the difference of
  two wall clocks to the last run, and says "now" for what is overdue.
- ``save`` is one script that changes nothing it did not read: RedBeat's pushes the due time away.
- There is no ``next``: an entry goes on when RabbitMQ has confirmed what it had to fire, all of a
  chunk at once (see ``notify.schedule.scheduler``), not before.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn

from celery import Celery
from celery.schedules import BaseSchedule, schedstate
from redbeat import RedBeatSchedulerEntry
from redbeat.decoder import RedBeatJSONDecoder, RedBeatJSONEncoder

from notify.app import make_app
from notify.config import Settings
from notify.errors import NotifyError
from notify.message import TASK
from notify.recurrence import Skipped, plan
from notify.schedule.instants import from_micros, read_list
from notify.schedule.shelf import OVER, PAUSED, Written
from notify.schedule.spec import ScheduleSpec

# How long the beat sleeps at most: what is new is found after so many seconds.
LOOP_INTERVAL: Final = 1.0
_KIND: Final = "notify"
_TOO_LATE: Final = "too late"
_EXPIRED: Final = "expired"


class Unusable(NotifyError):
    """A stored schedule that cannot be used; the message says why, without its content."""


def beat_app(settings: Settings) -> Celery:
    """A Celery application with every RedBeat option set, so that none is borrowed.

    RedBeat's own lock is off: see ``notify.schedule.leader``.
    """
    app = make_app(settings)
    redis = settings.redis
    app.conf.update(
        redbeat_redis_url=redis.url,
        redbeat_redis_use_ssl=None,
        redbeat_redis_options={
            "socket_timeout": redis.timeout,
            "socket_connect_timeout": redis.timeout,
        },
        redbeat_key_prefix=f"{redis.prefix}:beat:",
        redbeat_lock_key=None,
        redbeat_lock_timeout=None,
        beat_max_loop_interval=LOOP_INTERVAL,
    )
    return app


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What an entry has to do now: fire these planned instants, pass over those, and go on.

    It is looked at again at ``score``; None where it is over and goes.
    """

    fire: tuple[datetime, ...]
    passed: tuple[Skipped, ...]
    watermark: datetime
    score: float | None


class Recurring(BaseSchedule):
    """A recurrence as one of Celery's schedules: what RedBeat and Celery ask is answered by it."""

    def __init__(self, spec: ScheduleSpec, app: Celery | None = None) -> None:
        super().__init__(app=app)
        self.spec = spec

    def remaining_estimate(self, last_run_at: datetime) -> timedelta | None:
        following = self.spec.recurrence.next_after(last_run_at)
        return None if following is None else following - datetime.now(UTC)

    def is_due(self, last_run_at: datetime) -> schedstate:
        rest = self.remaining_estimate(last_run_at)
        if rest is None:
            return schedstate(False, None)
        seconds = max(0.0, rest.total_seconds())
        return schedstate(not seconds, seconds)


def encode_definition(spec: ScheduleSpec) -> str:
    """RedBeat's definition; the schedule itself is text in it."""
    text = json.dumps(spec.to_dict(), ensure_ascii=False, separators=(",", ":"))
    definition = {
        "name": spec.name,
        "task": TASK,
        "args": [],
        "kwargs": {"spec": text},
        "options": {},
        "schedule": {"__type__": _KIND},
        "enabled": not spec.paused,
    }
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":"))


def encode_meta(last: datetime | None, runs: int) -> str:
    """RedBeat's: when it ran last, which here is a planned instant, and how often."""
    meta = {"last_run_at": last, "total_run_count": runs}
    return json.dumps(meta, cls=RedBeatJSONEncoder, separators=(",", ":"))


def runs(meta: str) -> int:
    """How often it ran. Raises ``ValueError`` or ``TypeError`` for what is no meta of RedBeat's."""
    return int(json.loads(meta).get("total_run_count") or 0) if meta else 0


def decode(text: str) -> dict[str, Any]:
    """What RedBeat stored as JSON. Raises ``Unusable``."""
    try:
        values = json.loads(text)
        if not is_ours(values):
            values = json.loads(text, cls=RedBeatJSONDecoder)
    except Exception as error:
        # Whatever its object hook meets in what is not RedBeat's.
        raise Unusable(f"is no entry of RedBeat's: {type(error).__name__}") from error
    if not isinstance(values, dict):
        raise Unusable("is no entry of RedBeat's")
    return values


def is_ours(definition: Any) -> bool:
    """Otherwise it is one that RedBeat itself has stored, or none at all."""
    schedule = definition.get("schedule") if isinstance(definition, dict) else None
    return isinstance(schedule, dict) and schedule.get("__type__") == _KIND


class Entry(RedBeatSchedulerEntry):
    """A schedule with its state, as it was read."""

    def __init__(self, app: Celery, spec: ScheduleSpec, written: Written) -> None:
        self.watermark = from_micros(written.w)
        super().__init__(
            name=spec.name,
            task=TASK,
            schedule=Recurring(spec, app),
            kwargs={"spec": spec.revision},
            enabled=not spec.paused,
            last_run_at=self.watermark,
            total_run_count=runs(written.meta),
            app=app,
        )
        self.spec = spec
        self.written = written
        self.owed = read_list(written.o)

    @classmethod
    def read(cls, written: Written, app: Celery) -> "Entry":
        """Raises ``Unusable``."""
        definition = decode(written.definition)
        if not is_ours(definition):
            raise Unusable("was stored by RedBeat itself")
        try:
            spec = ScheduleSpec.from_dict(json.loads(definition["kwargs"]["spec"]))
            entry = cls(app, spec, written)
        except NotifyError as error:
            raise Unusable(str(error)) from error
        except Exception as error:
            raise Unusable(f"cannot be read: {type(error).__name__}") from error
        if spec.name != written.name:
            raise Unusable("has another name than the one it is stored under")
        return entry

    @property
    def last_at(self) -> datetime | None:
        """The planned instant that was fired last."""
        with suppress(Unusable):
            last = decode(self.written.meta or "{}").get("last_run_at")
            return last if isinstance(last, datetime) else None
        return None

    @property
    def next_at(self) -> datetime | None:
        """The next planned instant; None where nothing follows."""
        return self.owed[0] if self.owed else self.spec.recurrence.next_after(self.watermark)

    @property
    def due_at(self) -> datetime | None:
        """When that may be fired."""
        following = self.next_at
        return None if following is None else due(self.spec, following)

    @property
    def score(self) -> float:
        """RedBeat leaves alone what is below zero."""
        if self.spec.paused:
            return PAUSED
        at = self.due_at
        return OVER if at is None else at.timestamp()

    def is_due(self) -> schedstate:
        rest = self.score - datetime.now(UTC).timestamp()
        return schedstate(self.score >= 0 >= rest, max(0.0, rest))

    def work(self, now: datetime) -> Work:
        """The same for the same ``now``, whichever beat asks."""
        spec = self.spec
        wanted = plan(spec.recurrence, self.watermark, now, spec.misfire, spec.delay)
        oldest = now - timedelta(seconds=spec.misfire.grace)
        late = [each for each in self.owed if due(spec, each) < oldest]
        fire = sorted({*self.owed, *wanted.fire}.difference(late))
        expired = [each for each in fire if (spec.expires_at(each) or now) < now]
        passed = (*_skipped(late, _TOO_LATE), *_skipped(expired, _EXPIRED), *wanted.skipped)
        return Work(
            fire=tuple(each for each in fire if each not in expired),
            passed=passed,
            watermark=wanted.watermark,
            score=self._score(wanted.next_due),
        )

    def _score(self, at: datetime | None) -> float | None:
        """None where the entry is over: what fires once goes, what had an end is kept."""
        if at is not None:
            return at.timestamp()
        return None if self.spec.recurrence.at is not None else OVER

    def _one_by_one(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("an entry goes on after a confirm, by notify.schedule.scheduler")

    save = delete = reschedule = _next_instance = __next__ = next = _one_by_one


def due(spec: ScheduleSpec, planned: datetime) -> datetime:
    """When a planned instant may be fired: after its delay, and after quiet hours."""
    return spec.recurrence.due(planned, spec.delay(planned))


def _skipped(instants: list[datetime], why: str) -> tuple[Skipped, ...]:
    return (Skipped(instants[0], instants[-1], len(instants), why),) if instants else ()
