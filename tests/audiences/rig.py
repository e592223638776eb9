"""Firings for many on a real database, with a broker that answers at will."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from notify.batch import Knobs, lives
from notify.config import Settings
from notify.errors import InvalidNotification, NotifyError
from notify.notification import Notification
from notify.publish import Sent, prepare
from notify.schedule.audience.running import Claim, Means, Run
from notify.schedule.audience.spool import Spool, spool_directory
from notify.schedule.audiences import Audiences
from notify.schedule.spec import ScheduleSpec, parse_spec
from notify.store.batches import RUNNING, Batch, Batches

NOW = datetime.now(UTC).replace(microsecond=0)
HOUR = timedelta(hours=1)


def phone(number: int) -> str:
    return f"+49170{1000000 + number}"


def table(path: Path, count: int, *, start: int = 1, wrong: Iterable[int] = ()) -> Path:
    """A CSV file of so many people; those in ``wrong`` have no number that could be called."""
    rows = (("12" if n in wrong else phone(n)) for n in range(start, start + count))
    path.write_text("recipient\n" + "".join(f"{row}\n" for row in rows))
    return path


def to_many(name: str = "bills", **values: Any) -> ScheduleSpec:
    content = {"channel": "sms", "body": "Hello", "cron": "0 9 * * *"}
    return parse_spec(name, content | values, now=NOW)


@dataclass
class Clock:
    """Moves when somebody sleeps."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Wire:
    """What was given to the broker, and when by the clock."""

    settings: Settings
    clock: Clock = field(default_factory=Clock)
    taken: list[Notification] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    before: Callable[[int], None] = lambda _: None
    answer: Callable[[Notification], NotifyError | None] = lambda _: None

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.taken]

    def send_many(self, notifications: Iterable[Notification], *, window: int) -> Iterator[Sent]:
        for each in notifications:
            self.before(len(self.taken))
            try:
                prepare(each, self.settings, datetime.now(UTC))
            except InvalidNotification as problem:
                yield Sent(id=each.id, error=problem)
                continue
            error = self.answer(each)
            if error is None:
                self.taken.append(each)
                self.times.append(self.clock.now)
            yield Sent(id=each.id, error=error)


class Rig:
    """One host. ``host`` others share its archive and have a directory of their own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.audiences = Audiences(settings)
        self.batches = Batches(settings.archive.url)
        self.batches.create()
        self.wire = Wire(settings)
        self.spool = Spool(spool_directory(settings, {}))
        self._owners = 0

    def close(self) -> None:
        self.audiences.close()
        self.batches.close()

    def start(self, spec: ScheduleSpec, planned: datetime = NOW) -> str:
        return self.audiences.start(spec, planned, planned + timedelta(seconds=1))

    def run(self, name: str, *, spool: Spool | None = None, **options: Any) -> Run:
        @contextmanager
        def client(_: Settings) -> Iterator[Wire]:
            yield self.wire

        means = Means(
            settings=self.settings,
            batches=self.batches,
            spool=spool or self.spool,
            client=client,
        )
        self._owners += 1
        alive = options.pop("alive", lives)
        only = options.pop("only", (RUNNING,))
        claim = Claim(owner=f'{{"run": {self._owners}}}', alive=alive, only=only)
        clock = self.wire.clock
        knobs = Knobs(window=20, patience=60.0, clock=clock, sleep=clock.sleep)
        return Run(means, name, claim, knobs=knobs, **options)

    def go(self, name: str, **options: Any) -> Batch:
        return self.run(name, **options).go()

    def stored(self, name: str) -> Batch:
        found = self.batches.get(name)
        assert found is not None
        return found
