"""The gate of a worker whose event loop loses, or turns round, what it was told."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from notify.routing import Opening
from notify.worker import gate as gates
from notify.worker.gate import Gate
from tests.waiting import eventually

QUEUE = "notify.sms.normal"
MOST = 20


class FakeConsumer:
    """Celery's consumer, with its queues and its task consumer; what it is told waits."""

    def __init__(self) -> None:
        self.told: list[Callable[[], Any]] = []
        self.prefetch: int | None = MOST
        self.selected = True
        self.lost = False
        self._asked = MOST
        self.app = SimpleNamespace(amqp=SimpleNamespace(queues=self))
        self.task_consumer = SimpleNamespace(consuming_from=self._consuming_from, qos=self._ask)
        self.qos = SimpleNamespace(value=MOST)

    def call_soon(self, act: Callable[..., Any], *arguments: Any) -> None:
        self.told.append(partial(act, *arguments))

    def turn(self, *, backwards: bool = False) -> None:
        told, self.told = self.told, []
        for act in reversed(told) if backwards else told:
            act()

    def cancel_task_queue(self, _: str) -> None:
        self.selected, self.prefetch = False, None
        if self.lost:
            raise ConnectionResetError

    def add_task_queue(self, _: str) -> None:
        self.prefetch = self._asked

    def select_add(self, _: str) -> None:
        self.selected = True

    def __getitem__(self, name: str) -> str:
        return name

    def _consuming_from(self, _: str) -> bool:
        return self.prefetch is not None

    def _ask(self, prefetch_count: int) -> None:
        self._asked = prefetch_count


class Stand:
    """A gate, and how far it may be open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "_LOOK_EVERY", 0.01)
        monkeypatch.setattr(gates, "_CLOSING_TAKES", 0.05)
        self.opening = Opening.CLOSED
        self.stopping = threading.Event()
        self.gate = Gate(QUEUE, lambda: (self.opening, "why"), self.stopping)
        self.gate.consumer = self.consumer = FakeConsumer()

    def close(self) -> None:
        self.gate.close("Redis is away")

    def until_told(self) -> None:
        eventually(lambda: self.consumer.told, "something for the loop")

    def until(self, prefetch: int | None) -> None:
        def turned() -> bool:
            self.consumer.turn()
            return self.consumer.prefetch == prefetch

        eventually(turned, f"at most {prefetch} are taken")


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    stand = Stand(monkeypatch)
    yield stand
    stand.stopping.set()


def lose(stand: Stand) -> None:
    stand.until_told()
    stand.consumer.told.clear()


def test_what_the_loop_loses_it_is_told_again(stand: Stand) -> None:
    stand.close()
    lose(stand)
    stand.close()
    stand.until(None)
    stand.opening = Opening.TRIAL
    lose(stand)
    stand.until(1)
    stand.opening = Opening.OPEN
    lose(stand)
    stand.until(MOST)
    assert stand.gate.reason == ""


def test_closed_and_opened_while_the_loop_was_away_it_is_open(stand: Stand) -> None:
    stand.opening = Opening.OPEN
    stand.close()
    eventually(lambda: len(stand.consumer.told) > 1, "both for the loop")
    stand.consumer.turn(backwards=True)
    assert (stand.gate.reason, stand.consumer.prefetch) == ("", MOST)


def test_an_opening_that_came_too_late_opens_nothing(stand: Stand) -> None:
    stand.close()
    stand.until(None)
    stand.opening = Opening.OPEN
    stand.until_told()
    late = stand.consumer.told[0]
    stand.until(MOST)
    stand.opening = Opening.CLOSED
    stand.close()
    stand.until(None)
    late()
    assert (bool(stand.gate.reason), stand.consumer.prefetch) == (True, None)


def test_a_connection_lost_while_it_opens_is_followed_by_one_that_consumes(stand: Stand) -> None:
    stand.close()
    stand.until(None)
    stand.opening = Opening.TRIAL
    stand.until(1)
    stand.opening, stand.consumer.lost = Opening.OPEN, True
    stand.until_told()
    with pytest.raises(ConnectionResetError):
        eventually(stand.consumer.turn, "the loss")
    assert (stand.gate.reason, stand.consumer.selected) == ("", True)
