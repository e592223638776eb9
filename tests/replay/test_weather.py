"""Redis, RabbitMQ and the archive fail in the middle of a run: it waits, or goes on later."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from notify.batch import Knobs
from notify.batch import runner as batch_runner
from notify.broker import Outgoing, Publisher, Result
from notify.errors import (
    LedgerUnavailable,
    NotifyError,
    QueueFull,
    StoreUnavailable,
    Unconfirmed,
    Unroutable,
)
from notify.replay import Desk, Order, plan_replay, resume_replay, run_replay
from notify.replay import running as replay_running
from notify.store import Filter
from notify.store.batches import RUNNING, WITH_FAILURES
from tests.deployment import Deployment
from tests.replay.letters import bury, text

pytestmark = [pytest.mark.broker, pytest.mark.redis]

COUNT = 10
# Its pauses are a twentieth of what they are.
KNOBS = Knobs(
    window=4,
    clock=lambda: 20 * time.monotonic(),
    sleep=lambda seconds: time.sleep(seconds / 20),
)
ORDER = Order(wanted=Filter(), actor="ann", name="run")


@dataclass
class Flaky:
    """Fails at some calls of one method, counted from 1."""

    real: Any
    method: str
    error: type[NotifyError]
    at: range
    calls: int = 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.real, name)
        return self._failing(value) if name == self.method else value

    def _failing(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls in self.at:
                raise self.error
            return act(*arguments, **named)

        return failing


class Refusing(Publisher):
    """Answers with an error for some messages, whether they are queued or not."""

    def __init__(self, real: Publisher, error: type[NotifyError], at: range) -> None:
        self._own = real
        self._error = error
        self._at = at
        self.calls = 0

    def publish_many(
        self, items: Iterable[Outgoing], *, window: int = 500, timeout: float | None = None
    ) -> Iterator[Result]:
        for result in self._own.publish_many(items, window=window, timeout=timeout):
            self.calls += 1
            failed = self.calls in self._at
            yield Result(key=result.key, error=self._error()) if failed else result


def bury_some(deployment: Deployment) -> list[str]:
    """The ids of letters that there were not before."""
    first = deployment.store.count(Filter())
    notifications = [text(n) for n in range(first, first + COUNT)]
    bury(deployment, *notifications)
    return [each.id for each in notifications]


def check(deployment: Deployment, count: int = COUNT) -> None:
    deployment.worker()
    for n in range(count):
        deployment.until_sent(f"n-{n}")
    deployment.until_depth("notify.sms.normal", 0)
    assert len(deployment.sandbox.received()) == count


def flaky(desk: Desk, part: str, method: str, error: type[NotifyError], at: range) -> Any:
    changes: dict[str, Any] = {part: Flaky(getattr(desk, part), method, error, at)}
    return replace(desk, **changes)


PARTS: Sequence[tuple[str, str, type[NotifyError]]] = (
    ("ledger", "replay", LedgerUnavailable),
    ("ledger", "known", LedgerUnavailable),
    ("replays", "take", StoreUnavailable),
    ("replays", "archived", StoreUnavailable),
    ("replays", "note", StoreUnavailable),
    ("batches", "save", StoreUnavailable),
)


def test_it_waits_until_it_is_over(deployment: Deployment, desk: Desk) -> None:
    for part, method, error in PARTS:
        ids = bury_some(deployment)
        away = flaky(desk, part, method, error, range(2, 4))
        done = run_replay(away, replace(ORDER, name=f"{part}-{method}"), knobs=KNOBS)
        assert dict(done.results) == {"sent": len(ids)}, (part, method)
    check(deployment, len(PARTS) * COUNT)


def test_redis_is_away_from_the_beginning(deployment: Deployment, desk: Desk) -> None:
    """Whoever started it is told at once, and nothing has happened."""
    bury(deployment, *(text(n) for n in range(COUNT)))
    away = flaky(desk, "ledger", "known", LedgerUnavailable, range(1, 100))
    with pytest.raises(LedgerUnavailable):
        run_replay(away, ORDER, knobs=KNOBS)
    assert desk.replays.counts("run") == {"": COUNT}
    assert dict(run_replay(desk, ORDER, knobs=KNOBS).results) == {"sent": COUNT}


def test_what_is_not_confirmed_goes_again(deployment: Deployment, desk: Desk) -> None:
    """It may be in the queue all the same: the second copy has the same generation."""
    for name, error in (("full", QueueFull), ("late", Unconfirmed)):
        ids = bury_some(deployment)
        failing = replace(desk, publisher=Refusing(desk.publisher, error, range(3, 8)))
        done = run_replay(failing, replace(ORDER, name=name), knobs=KNOBS)
        assert dict(done.results) == {"sent": len(ids)}, name
    check(deployment, 2 * COUNT)


def test_the_archive_is_away_when_results_are_noted(
    deployment: Deployment, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury(deployment, *(text(n) for n in range(COUNT)))
    locked = flaky(desk, "replays", "note", StoreUnavailable, range(2, 100))
    with pytest.raises(StoreUnavailable):
        run_replay(locked, ORDER, knobs=Knobs(window=4, patience=0.1))
    batch = desk.batches.get("run")
    assert batch is not None
    assert batch.state == RUNNING
    # Its end could not be noted either, and this process is there still.
    for module in (batch_runner, replay_running):
        monkeypatch.setattr(module, "lives", lambda _: False)
    done = run_replay(desk, ORDER, knobs=KNOBS)
    assert dict(done.results) == {"sent": COUNT}
    check(deployment)


def test_what_no_queue_takes_is_said_and_can_go_again(deployment: Deployment, desk: Desk) -> None:
    bury(deployment, *(text(n) for n in range(COUNT)))
    failing = replace(desk, publisher=Refusing(desk.publisher, Unroutable, range(3, 5)))
    done = run_replay(failing, ORDER, knobs=KNOBS)
    assert dict(done.results) == {"sent": COUNT - 2, "failed": 2}
    assert (done.batch.state, done.batch.failed) == (WITH_FAILURES, 2)
    assert desk.store.count(Filter(state="open")) == 2
    other = plan_replay(desk, Order(wanted=Filter(), actor="bob"))
    assert (other.ready, other.left_out) == (2, {})
    assert run_replay(desk, Order(wanted=Filter(), actor="bob", at_most=1)).sent == 1
    done = resume_replay(desk, "run", knobs=KNOBS)
    assert dict(done.results) == {"sent": COUNT - 1, "on its way": 1}
    assert done.batch.failed == 0
    check(deployment)
