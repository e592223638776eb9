"""An engine on a real database, with a broker that confirms in any order and can be killed."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from notify.batch.engine import Engine, Knobs
from notify.batch.outlet import Publishing
from notify.batch.source import Source
from notify.errors import NotifyError
from notify.notification import Notification
from notify.publish import Sent
from notify.rows import Row
from notify.store.batches import Batch, Batches, BatchProgress
from tests.deployment import sms


class Killed(BaseException):
    """As SIGKILL: nothing runs after it."""


class Mortal(Batches):
    """A database that a killed process does not reach any more."""

    dead = False

    def save(
        self, name: str, owner: str, progress: BatchProgress, *, leave: str | None = None
    ) -> str | None:
        if self.dead:
            raise Killed
        return super().save(name, owner, progress, leave=leave)


@dataclass
class Broker:
    """Confirms in an order of chance; ``refuse`` says what an id gets instead."""

    chance: random.Random = field(default_factory=lambda: random.Random(1))
    published: Counter[str] = field(default_factory=Counter)
    refuse: Callable[[str], NotifyError | None] = lambda _id: None
    lives: int = -1
    store: Mortal | None = None

    def send_many(self, items: Iterable[Notification], *, window: int) -> Iterator[Sent]:
        waiting: list[str] = []
        for item in items:
            self._publish(item.id)
            waiting.append(item.id)
            while waiting and (len(waiting) >= window or self.chance.random() < 0.4):
                yield self._answer(waiting)
        while waiting:
            yield self._answer(waiting)

    def _publish(self, id: str) -> None:
        if self.lives == 0:
            assert self.store
            self.store.dead = True
            raise Killed
        self.lives -= 1
        if self.refuse(id) is None:
            self.published[id] += 1

    def _answer(self, waiting: list[str]) -> Sent:
        id = waiting.pop(self.chance.randrange(len(waiting)))
        return Sent(id=id, error=self.refuse(id))


@dataclass(frozen=True)
class Rows:
    """``count`` rows, with gaps in their numbers and some that are wrong."""

    name: str
    count: int
    wrong: frozenset[int] = frozenset()

    def numbers(self) -> list[int]:
        return [3 * n for n in range(1, self.count + 1)]

    def good(self) -> set[str]:
        return {f"{self.name}:{n}" for n in self.numbers() if n not in self.wrong}

    def rows(self, after: int = 0) -> Iterator[Row]:
        for number in self.numbers():
            if number in self.wrong:
                if number > after:
                    yield Row(number=number, problem="is wrong")
            elif number > after:
                yield Row(number=number, notification=sms(id=f"{self.name}:{number}"))


@dataclass
class Clock:
    """Moves when somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def start(
    url: str, broker: Broker, source: Source, name: str, *, window: int = 10, rate: float = 0.0
) -> tuple[Engine, Clock]:
    """An engine that has taken the batch, whoever had it."""
    store = Mortal(url)
    store.create()
    broker.store = store
    store.add(Batch(name=name, rate=rate))
    batch = store.take(name, f"owner-{id(store)}", lambda _: False, window)
    assert batch is not None
    clock = Clock()
    knobs = Knobs(window=window, patience=60.0, clock=clock, sleep=clock.sleep)
    return Engine(Publishing(broker), store, batch, source, knobs=knobs), clock


def stored(url: str, name: str) -> Batch:
    store = Batches(url)
    try:
        found = store.get(name)
        assert found is not None
        return found
    finally:
        store.close()
