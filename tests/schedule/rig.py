"""A beat without a process: real Redis, a clock that can be set, a broker that answers at will."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from notify.config import Settings
from notify.errors import InvalidNotification, NotifyError
from notify.metrics import BeatMetrics
from notify.notification import Notification
from notify.publish import Sent, prepare
from notify.schedule import Book, ScheduleSpec, parse_spec
from notify.schedule.clocks import Clocks
from notify.schedule.desk import Desk
from notify.schedule.entries import beat_app
from notify.schedule.firing import Firing
from notify.schedule.happened import Recording
from notify.schedule.keeping import Keeping
from notify.schedule.leader import Leader
from notify.schedule.scheduler import Scheduler
from notify.store.occurrences import Occurrence
from tests.waiting import eventually

PHONE = "+491701234567"
NOON = datetime(2027, 6, 1, 12, 0, tzinfo=UTC)


class Wire:
    """What a client gave to the broker; ``answer`` says what the broker makes of each."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.taken: list[Notification] = []
        self.answer: Callable[[Notification], NotifyError | None] = lambda _: None
        self.before: Callable[[Notification], None] = lambda _: None

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.taken]

    def send_many(self, notifications: Iterable[Notification], *, window: int) -> Iterator[Sent]:
        for each in notifications:
            try:
                ready = prepare(each, self._settings, each.created_at)
            except InvalidNotification as refused:
                yield Sent(id=each.id, error=refused)
                continue
            self.before(ready)
            error = self.answer(ready)
            if error is None:
                self.taken.append(ready)
            yield Sent(id=each.id, error=error)


@dataclass
class Kept:
    """A recorder that remembers."""

    happened: list[Occurrence] = field(default_factory=list)

    def record(self, happened: Sequence[Occurrence]) -> None:
        self.happened += happened


class Rig:
    """One beat's insides. ``now`` is the time that it reads."""

    def __init__(self, settings: Settings, raw: redis.Redis) -> None:
        self.settings = settings
        self.raw: Any = raw
        self.now = NOON
        self.wire = Wire(settings)
        self.kept = Kept()
        self.book = Book(settings)
        self.metrics = BeatMetrics()
        self.stopping = threading.Event()
        self.statuses: list[str] = []
        self._stack = ExitStack()
        self._stack.callback(self.book.close)
        self.leader = self.candidate()
        self.leader.attempt()
        self.scheduler = self.beat(self.leader)

    def close(self) -> None:
        self._stack.close()

    def candidate(self) -> Leader:
        made = Leader(self.settings.redis.url, self.book.shelf.lock, timeout=1.0)
        self._stack.callback(made.stop)
        return made

    def beat(self, leader: Leader) -> Scheduler:
        recording = Recording(self.kept)
        self._stack.callback(recording.close)
        firing = Firing(self.settings, self.wire)  # type: ignore[arg-type]
        desk = Desk(
            book=self.book,
            leader=leader,
            firing=firing,
            recording=recording,
            metrics=self.metrics,
            keeping=Keeping(None, leader, self.stopping),
            status=self.statuses.append,
            stopping=self.stopping,
            clocks=Clocks(wall=lambda: self.now.timestamp()),
            now=lambda: self.now,
        )
        return Scheduler(beat_app(self.settings), desk=desk, max_interval=1.0)

    def put(self, name: str, *, replace: bool = False, **values: Any) -> ScheduleSpec:
        content = {"channel": "sms", "recipient": PHONE, "body": "Hello"}
        spec = parse_spec(name, {**content, **values}, now=self.now)
        self.book.put(spec, replace=replace, now=self.now)
        return spec

    def look(self, seconds: float = 0.0) -> list[str]:
        """One look, so many seconds later; the ids that it published."""
        self.now += timedelta(seconds=seconds)
        before = len(self.wire.taken)
        self.scheduler.look()
        return self.wire.ids[before:]

    def outcomes(self, count: int) -> list[tuple[str, str, int]]:
        """The history: schedule, outcome and count, when there are so many lines."""
        eventually(lambda: len(self.kept.happened) >= count, f"{count} lines of history")
        return [(each.schedule, each.outcome, each.count) for each in self.kept.happened]

    def key(self, name: str) -> str:
        return self.book.shelf.key(name)

    def keys(self) -> set[str]:
        """All that is in Redis below this prefix."""
        return set(self.raw.keys(f"{self.settings.redis.prefix}:*"))


def at(instant: datetime) -> str:
    """As it stands in an id."""
    return f"{instant:%Y%m%dT%H%M%SZ}"
