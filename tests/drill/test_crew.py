"""Processes that are killed on purpose, and those that end by themselves."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notify.drill.crew import Crew
from tests.waiting import eventually

LASTING = ["/bin/sh", "-c", "echo $$ >> pids; exec sleep 1000"]
BRIEF = ["/bin/sh", "-c", "echo $$ >> brief; exit 3"]

Make = Callable[..., Crew]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def crew(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Iterator[Crew]]:
    monkeypatch.chdir(tmp_path)

    def make(**commands: list[str]) -> Crew:
        return Crew(commands, logs=tmp_path / "log", environ=dict(os.environ), say=said.append)

    return make  # type: ignore[return-value]


def pids(name: str = "pids") -> list[int]:
    path = Path(name)
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_killed_process_is_gone_and_started_again_at_once(crew: Make, said: list[str]) -> None:
    with crew(one=LASTING) as running:
        first = eventually(pids, "the first process")[0]
        running.kill("one")
        assert gone(first)
        second = eventually(lambda: pids()[1:], "the second process")[0]
        assert not gone(second)
    assert gone(second)
    assert (said, running.ended_by_themselves) == ([], [])
    assert sorted(path.name for path in Path("log").iterdir()) == ["one.0001.log", "one.0002.log"]


def test_what_ends_by_itself_is_told_and_started_again(crew: Make, said: list[str]) -> None:
    with crew(brief=BRIEF) as running:
        eventually(lambda: len(pids("brief")) >= 2, "a second start")
    assert said[0] == "brief: ended by itself; see brief.0001.log"
    assert running.ended_by_themselves[0] == "brief.0001.log"


def test_all_are_stopped_when_one_cannot_be_started(crew: Make) -> None:
    with pytest.raises(OSError), crew(**{"one": LASTING, "no/log": LASTING}):
        raise AssertionError("not reached")
    assert all(gone(pid) for pid in pids())
