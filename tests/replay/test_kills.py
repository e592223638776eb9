"""A run that is killed at any step goes on: nobody gets it twice, nobody is left out."""

from typing import Any

import pytest

from notify.batch import Knobs
from notify.batch import runner as batch_runner
from notify.replay import Desk, Order, cancel_replay, resume_replay, run_replay
from notify.replay import running as replay_running
from notify.sandbox import Answer
from notify.store import Filter
from notify.store.batches import CANCELLED, PAUSED, RUNNING
from tests.deployment import Deployment
from tests.replay.letters import bury, text
from tests.replay.mortal import Killed, Life, mortal

pytestmark = [pytest.mark.broker, pytest.mark.redis]

COUNT = 8
KNOBS = Knobs(window=6)
STEPS = ("take", "open", "publish", "confirm", "note", "save")
MOMENTS = [(step, nth) for step in STEPS for nth in (1, 2)]


@pytest.fixture(autouse=True)
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that was killed was this one, which is there still."""
    for module in (batch_runner, replay_running):
        monkeypatch.setattr(module, "lives", lambda _: False)


def order(number: int, **values: Any) -> Order:
    return Order(wanted=Filter(), actor="ann", name=f"run-{number}", **values)


def bury_some(deployment: Deployment, number: int) -> set[str]:
    """The ids of letters that are of this number only."""
    notifications = [text(100 * number + n) for n in range(COUNT)]
    bury(deployment, *notifications)
    return {each.id for each in notifications}


def kill(desk: Desk, number: int, step: str, nth: int) -> None:
    with pytest.raises(Killed):
        run_replay(mortal(desk, Life(at=step, nth=nth)), order(number), knobs=KNOBS)


def check_each_once(deployment: Deployment, ids: set[str]) -> None:
    deployment.worker()
    for id in ids:
        deployment.until_sent(id)
    deployment.until_depth("notify.sms.normal", 0)
    assert sorted(each.id for each in deployment.sandbox.received()) == sorted(ids)


def test_it_goes_on_with_the_same_command(deployment: Deployment, desk: Desk) -> None:
    ids: set[str] = set()
    for number, (step, nth) in enumerate(MOMENTS, 1):
        ids |= bury_some(deployment, number)
        kill(desk, number, step, nth)
        batch = desk.batches.get(f"run-{number}")
        assert batch is not None
        assert batch.state == RUNNING
        done = run_replay(desk, order(number), knobs=KNOBS)
        assert done.run.name == f"run-{number}"
        assert dict(done.results) == {"sent": COUNT}, (step, nth)
        assert done.batch.sent == COUNT
    check_each_once(deployment, ids)


def test_it_is_killed_again_and_again(deployment: Deployment, desk: Desk) -> None:
    ids = bury_some(deployment, 1)
    for step in STEPS * 2:
        kill(desk, 1, step, 1 if step != "publish" else 3)
    assert dict(resume_replay(desk, "run-1", knobs=KNOBS).results) == {"sent": COUNT}
    check_each_once(deployment, ids)


def test_workers_send_while_it_is_dead(deployment: Deployment, desk: Desk) -> None:
    """What was published before the kill is delivered, or dead again, when it goes on."""
    ids = bury_some(deployment, 1)
    refused = text(101)
    deployment.sandbox.script(refused.recipient, Answer(status=400))
    kill(desk, 1, "confirm", 4)
    deployment.worker()
    deployment.until_depth("notify.sms.normal", 0)
    done = resume_replay(desk, "run-1", knobs=KNOBS)
    assert dict(done.results) == {"sent": COUNT}
    for id in ids - {refused.id}:
        deployment.until_sent(id)
    deployment.until_depth("notify.sms.normal", 0)
    assert sorted(each.id for each in deployment.sandbox.received()) == sorted(ids)


def test_one_that_was_killed_is_cancelled(deployment: Deployment, desk: Desk) -> None:
    """What it had in its hands is sent or given back; other replays send the rest."""
    ids: set[str] = set()
    for number, (step, nth) in enumerate(MOMENTS, 1):
        name = f"run-{number}"
        ids |= bury_some(deployment, number)
        kill(desk, number, step, nth)
        other = run_replay(desk, Order(wanted=Filter(), actor="bob"))
        assert other.sent + other.others.get(name, 0) == other.batch.total
        assert desk.batches.order(name, CANCELLED, (RUNNING, PAUSED))
        cancel_replay(desk, name)
        assert desk.replays.counts(name).get("", 0) == 0
        assert desk.replays.open_letters(name) == []
        if desk.store.count(Filter(state="open")):
            rest = run_replay(desk, Order(wanted=Filter(), actor="eve"))
            assert set(rest.results) == {"sent"}
        assert desk.store.count(Filter(state="open")) == 0, (step, nth)
    check_each_once(deployment, ids)


@pytest.mark.parametrize("ending", ["resumed", "cancelled"])
def test_what_the_ledger_has_forgotten_is_not_sent_again(
    ending: str, deployment: Deployment, desk: Desk
) -> None:
    """It was published, or not quite, and nobody can tell that any more."""
    ids = bury_some(deployment, 1)
    kill(desk, 1, "confirm", 4)
    doubtful = {each.id for each in desk.replays.open_letters("run-1")}
    held = len(doubtful)
    assert 0 < held < COUNT
    deployment.ledger._redis.flushdb()
    deployment.ledger.mark()
    if ending == "cancelled":
        assert desk.batches.order("run-1", CANCELLED, (RUNNING,))
        cancel_replay(desk, "run-1")
        assert desk.replays.counts("run-1") == {"replayed": held, "cancelled": COUNT - held}
        done = run_replay(desk, Order(wanted=Filter(), actor="bob"))
    else:
        done = resume_replay(desk, "run-1", knobs=KNOBS)
    assert dict(done.results) == {"replayed": held, "sent": COUNT - held}
    deployment.worker()
    for id in ids - doubtful:
        deployment.until_sent(id)
    deployment.until_depth("notify.sms.normal", 0)
    seen = [each.id for each in deployment.sandbox.received()]
    assert len(seen) == len(set(seen))
    assert ids - doubtful <= set(seen)


def test_what_the_ledger_has_never_known_is_sent(deployment: Deployment, desk: Desk) -> None:
    """It was taken, and was forgotten before that: nothing of its generation was published."""
    ids = bury_some(deployment, 1)
    server, prefix = deployment.ledger._redis, deployment.prefix
    server.delete(*(f"{prefix}:n:{id}" for id in ids))
    server.hset(f"{prefix}:marker", "born", 1)
    kill(desk, 1, "open", 1)
    assert desk.replays.open_letters("run-1")
    assert dict(resume_replay(desk, "run-1", knobs=KNOBS).results) == {"sent": COUNT}
    check_each_once(deployment, ids)
