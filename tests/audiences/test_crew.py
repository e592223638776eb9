"""Who runs the batches beside the beat: only a leader does, so many at once, and none twice."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from notify.errors import StoreUnavailable
from notify.schedule.audience import crew as crews
from notify.schedule.audience.crew import Crew
from notify.schedule.audience.running import Run
from notify.store.batches import CANCELLED, RUNNING, Batch
from tests.audiences.rig import HOUR, NOW, Rig, table, to_many
from tests.waiting import eventually


class Stage:
    """A crew whose runs wait until they are let go; ``leads`` is whether its beat does."""

    def __init__(self, rig: Rig, tmp_path: Path) -> None:
        self.rig = rig
        self.leads = True
        self.gate = threading.Event()
        self.begun: list[str] = []
        self.fail: Exception | None = None
        self.file = str(table(tmp_path / "people.csv", 3))
        self.crew = Crew(rig.audiences, lambda: self.leads, fast=2)

    def close(self) -> None:
        self.gate.set()
        self.crew.close()


@pytest.fixture
def stage(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage(rig, tmp_path)

    def go(run: Run) -> Batch:
        taken = run._take()
        made.begun.append(taken.name)
        while not made.gate.wait(0.01) and not run._stopping.is_set():
            pass
        if made.fail is not None:
            raise made.fail
        run._batch = taken
        run._leave()
        if not run._stopping.is_set():
            rig.batches.order(taken.name, CANCELLED, (RUNNING,))
        return rig.stored(taken.name)

    monkeypatch.setattr(Run, "go", go)
    with closing(made):
        yield made


def start(stage: Stage, count: int, **values: Any) -> list[str]:
    spec = to_many(file=stage.file, **values)
    return [stage.rig.start(spec, NOW - n * HOUR) for n in range(count)]


def test_so_many_run_at_once_and_the_others_wait(stage: Stage) -> None:
    names = start(stage, 4)
    stage.crew.look()
    stage.crew.look()
    assert stage.crew.running() == sorted(names[:2])
    stage.gate.set()
    eventually(lambda: not stage.crew.running(), "the first two are over")
    stage.crew.look()
    eventually(lambda: sorted(stage.begun) == sorted(names), "the others have begun")


def test_what_is_spread_does_not_keep_others_waiting(stage: Stage) -> None:
    spread = to_many("slow", file=stage.file, spread="10m")
    slow = [stage.rig.start(spread, NOW - n * HOUR) for n in range(5)]
    fast = start(stage, 3)
    stage.crew.look()
    assert stage.crew.running() == sorted(slow + fast[:2])


def test_who_leads_no_more_stops_and_another_goes_on(stage: Stage) -> None:
    (name,) = start(stage, 1)
    stage.crew.look()
    eventually(lambda: stage.begun == [name], "it has begun")
    with closing(Crew(stage.rig.audiences, lambda: True)) as other:
        other.look()
        assert other.running() == []
        stage.leads = False
        stage.crew.look()
        eventually(lambda: not stage.crew.running(), "the first one has stopped")
        assert (stage.rig.stored(name).state, stage.rig.stored(name).owner) == (RUNNING, None)
        stage.crew.look()
        assert stage.crew.running() == []
        other.look()
        assert other.running() == [name]
        stage.gate.set()


def test_what_the_archive_could_not_learn_is_taken_up_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner is this process, which lives, and has nevertheless given it up."""
    monkeypatch.setattr(crews, "_AGAIN", 0.0)
    (name,) = start(stage, 1)
    stage.fail = StoreUnavailable("the archive cannot be used")
    stage.gate.set()
    stage.crew.look()
    eventually(lambda: not stage.crew.running(), "it has failed")
    assert stage.rig.stored(name).owner
    with closing(Crew(stage.rig.audiences, lambda: True)) as other:
        other.look()
        assert other.running() == []
    stage.fail = None
    stage.crew.look()
    eventually(lambda: stage.rig.stored(name).state == CANCELLED, "it was run again")
    assert stage.begun == [name, name]


def test_what_is_noted_begins_at_once_and_ends_with_the_beat(stage: Stage) -> None:
    stage.crew.start()
    (name,) = start(stage, 1)
    eventually(lambda: stage.crew.running() == [name], "it has begun", 1.9)
    stage.crew.close()
    assert stage.crew.running() == []
    assert (stage.rig.stored(name).state, stage.rig.stored(name).owner) == (RUNNING, None)


def test_an_archive_that_is_away_is_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> list[Batch]:
        raise StoreUnavailable("the archive cannot be used")

    with monkeypatch.context() as patch:
        patch.setattr(stage.rig.audiences, "waiting", away)
        stage.crew.start()
        eventually(lambda: not stage.crew._well, "it was said")
    (name,) = start(stage, 1)
    eventually(lambda: stage.begun == [name], "it goes on")
