"""When a worker must end: the verdict as a table."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from notify.errors import BrokerBlocked, BrokerUnavailable, NotifyError, Unconfirmed, Unroutable
from notify.worker.watch import Facts, Watch, fault


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (Facts(), ""),
        (Facts(overdue=2.9, silence=29.0, idle=14.0), ""),
        (Facts(overdue=3.1), "send is stuck past its deadline"),
        (Facts(silence=31.0), "no probe came back through the consuming channel"),
        (Facts(idle=16.0), "messages are ready and none is taken"),
        (Facts(idle=16.0, paused="Redis: ConnectionError"), ""),
        (Facts(overdue=3.1, paused="Redis: ConnectionError"), "send is stuck past its deadline"),
    ],
)
def test_fault(facts: Facts, why: str) -> None:
    assert fault(facts) == why


class Scene:
    """A worker as the watch sees it, with a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.error: NotifyError | None = None
        self.ready: int | None = 0
        self.reconnects = 0
        self.pipeline = SimpleNamespace(sending={}, handling=0, taken=0, holding=0, name="sms")
        self.probe = SimpleNamespace(
            queue="probe", returned=self.now, send=lambda: self.error, reconnect=self._reconnect
        )
        self.gate = SimpleNamespace(reason="")
        untyped: Any = self
        self.watch = Watch(
            pipeline=untyped.pipeline,
            probe=untyped.probe,
            gate=untyped.gate,
            depth=untyped._depth(),
            concurrency=2,
            stopping=threading.Event(),
            clock=lambda: self.now,
        )
        self.watch.look()

    def _reconnect(self) -> None:
        self.reconnects += 1

    def _depth(self) -> Any:
        return SimpleNamespace(ready=lambda: self.ready)

    def after(self, seconds: float) -> Facts:
        self.now += seconds
        return self.watch.look()


@pytest.mark.parametrize("error", [BrokerBlocked(), BrokerUnavailable()])
def test_a_broker_at_fault_excuses_silence(error: NotifyError) -> None:
    scene = Scene()
    scene.error = error
    assert scene.after(100).silence == 0


@pytest.mark.parametrize("error", [None, Unconfirmed(), Unroutable("gone")])
def test_a_probe_that_does_not_come_back_is_silence(error: NotifyError | None) -> None:
    scene = Scene()
    scene.error = error
    assert scene.after(100).silence == 100
    scene.probe.returned = scene.now
    assert scene.after(1).silence == 1


def test_a_consumer_that_is_deaf_reconnects_before_it_is_given_up() -> None:
    scene = Scene()
    scene.after(9)
    assert scene.reconnects == 0
    scene.after(2)
    assert scene.reconnects == 1
    scene.probe.queue = "another"
    assert scene.after(5).silence == 0
    scene.error = Unconfirmed()
    scene.after(20)
    assert scene.reconnects == 1


def test_a_worker_without_connection_is_excused_only_while_the_broker_is_away() -> None:
    scene = Scene()
    scene.probe.queue = ""
    scene.ready = None
    assert scene.after(100).silence == 0
    scene.ready = 0
    assert scene.after(40).silence == 40


def test_idle_means_ready_messages_free_slots_and_nothing_taken() -> None:
    scene = Scene()
    scene.after(1)
    scene.ready = 5
    assert scene.after(20).idle == 20
    scene.pipeline.taken = 1
    assert scene.after(20).idle == 0
    scene.pipeline.handling = 2
    assert scene.after(20).idle == 0
    scene.pipeline.handling = 1
    assert scene.after(20).idle == 20
    scene.ready = 0
    assert scene.after(20).idle == 0


def test_the_latest_send_counts() -> None:
    scene = Scene()
    scene.pipeline.sending = {"a": scene.now + 5, "b": scene.now + 1}
    assert scene.after(0).overdue == -1
    assert scene.after(4).overdue == 3
