"""A desk whose process can be killed between any two steps."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from notify.broker import Outgoing, Publisher, Result
from notify.replay import Desk


class Killed(BaseException):
    """As SIGKILL: nothing runs after it."""


@dataclass
class Life:
    """Ends before the step called ``at`` is taken for the ``nth`` time."""

    at: str
    nth: int
    dead: bool = False
    steps: dict[str, int] = field(default_factory=dict)

    def step(self, name: str) -> None:
        self.steps[name] = self.steps.get(name, 0) + 1
        if self.dead or (name == self.at and self.steps[name] == self.nth):
            self.dead = True
            raise Killed


class Mortal:
    """Something that a killed process does not reach any more."""

    def __init__(self, real: Any, life: Life, steps: dict[str, str]) -> None:
        self._real = real
        self._life = life
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if not callable(value):
            return value

        def act(*arguments: Any, **named: Any) -> Any:
            self._life.step(self._steps.get(name, name))
            return value(*arguments, **named)

        return act


class MortalPublisher(Publisher):
    """Ends when so many messages were handed to the broker, confirmed or not."""

    def __init__(self, real: Publisher, life: Life) -> None:
        self._own = real
        self._life = life

    def publish_many(
        self, items: Iterable[Outgoing], *, window: int = 500, timeout: float | None = None
    ) -> Iterator[Result]:
        def until_killed() -> Iterator[Outgoing]:
            for item in items:
                self._life.step("publish")
                yield item

        for result in self._own.publish_many(until_killed(), window=window, timeout=timeout):
            self._life.step("confirm")
            yield result


def mortal(desk: Desk, life: Life) -> Desk:
    """The same desk, until its process is killed."""
    names = {"take": "take", "note": "note", "save": "save", "replay": "open"}
    wrap: Callable[[Any], Any] = lambda real: Mortal(real, life, names)  # noqa: E731
    return replace(
        desk,
        replays=wrap(desk.replays),
        batches=wrap(desk.batches),
        ledger=wrap(desk.ledger),
        publisher=MortalPublisher(desk.publisher, life),
    )
