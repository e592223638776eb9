"""Threads: few where few are enough, as many as allowed where they are needed."""

import threading
from collections.abc import Iterator

import pytest

from notify.worker.crew import Crew
from notify.worker.width import Width, run_delay
from tests.waiting import eventually


class Job:
    """Work that is under way until it is told to end."""

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.thread = 0
        self.waited: bool | None = None

    def __call__(self, waited: bool) -> None:
        self.waited, self.thread = waited, threading.get_ident()
        self.begun.set()
        assert self.end.wait(20)


@pytest.fixture
def crew() -> Iterator[Crew]:
    crew = Crew(2)
    yield crew
    crew.stop()
    crew.wait()
    assert crew.threads == 0


def begun(crew: Crew, count: int) -> list[Job]:
    jobs = [Job() for _ in range(count)]
    for job in jobs:
        crew.put(job)
        assert job.begun.wait(20)
    return jobs


def at_rest(crew: Crew, count: int) -> None:
    eventually(lambda: len(crew._idle) == count, f"{count} threads at rest")


def test_a_thread_is_started_when_none_is_at_rest(crew: Crew) -> None:
    assert crew.threads == 0
    first, second = begun(crew, 2)
    assert crew.threads == 2
    assert first.thread != second.thread
    assert (first.waited, second.waited) == (False, False)
    first.end.set()
    at_rest(crew, 1)
    (third,) = begun(crew, 1)
    assert third.thread == first.thread
    for job in (second, third):
        job.end.set()


def test_the_one_that_was_busy_last_is_busy_next(crew: Crew) -> None:
    first, second = begun(crew, 2)
    for resting, job in enumerate((first, second), 1):
        job.end.set()
        at_rest(crew, resting)
    for _ in range(3):
        (job,) = begun(crew, 1)
        job.end.set()
        at_rest(crew, 2)
        assert job.thread == second.thread


def test_what_is_too_much_waits_and_knows_it(crew: Crew) -> None:
    first, second = begun(crew, 2)
    third, fourth = Job(), Job()
    assert (crew.put(third), crew.put(fourth)) == (False, False)
    assert crew.waiting == 2
    first.end.set()
    assert third.begun.wait(20)
    assert (third.waited, fourth.waited) == (True, None)
    crew.widen(3)
    assert fourth.begun.wait(20)
    assert (fourth.waited, crew.threads, crew.waiting) == (True, 3, 0)
    for job in (second, third, fourth):
        job.end.set()


def test_narrowed_it_finishes_what_it_has_begun(crew: Crew) -> None:
    first, second = begun(crew, 2)
    third = Job()
    crew.put(third)
    crew.widen(1)
    first.end.set()
    at_rest(crew, 1)
    assert not third.begun.is_set()
    second.end.set()
    assert third.begun.wait(20)
    assert third.thread == second.thread
    third.end.set()


def test_what_waits_can_be_forgotten(crew: Crew) -> None:
    first, second = begun(crew, 2)
    third = Job()
    crew.put(third)
    crew.forget()
    for job in (first, second):
        job.end.set()
    at_rest(crew, 2)
    assert third.waited is None


def test_stopped_it_finishes_what_is_under_way_and_begins_nothing(crew: Crew) -> None:
    ends: list[int] = []
    crew = Crew(2, lambda: ends.append(1))
    first, second = begun(crew, 2)
    third = Job()
    crew.put(third)
    assert crew.stop() == [third]
    assert not crew.put(Job())
    for job in (first, second):
        job.end.set()
    crew.wait()
    assert (crew.threads, third.waited, ends) == (0, None, [1, 1])


def test_work_that_fails_costs_no_thread(crew: Crew) -> None:
    def fail(_: bool) -> None:
        raise SystemExit("for one message")

    crew.put(fail)
    at_rest(crew, 1)
    (job,) = begun(crew, 1)
    job.end.set()
    assert crew.threads == 1


def test_a_host_without_threads_to_give_is_waited_for(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = begun(crew, 1)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    second = Job()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert not crew.put(second)
    assert (crew.threads, crew.waiting) == (1, 1)
    first.end.set()
    assert second.begun.wait(20)
    second.end.set()


class Meter:
    """A clock, the processor's time, and what one thread has waited for it."""

    def __init__(self) -> None:
        self.clock = self.cpu = self.delay = 0.0

    def width(self, most: int) -> Width:
        width = Width(
            most, clock=lambda: self.clock, cpu=lambda: self.cpu, delay=lambda _: self.delay
        )
        width.begin([7])
        return width

    def pass_by(self, seconds: float, *, cpu: float = 0.0, delay: float = 0.0) -> None:
        self.clock += seconds
        self.cpu += cpu
        self.delay += delay


def test_while_threads_wait_for_others_more_may_work_up_to_all() -> None:
    meter = Meter()
    width = meter.width(100)
    found = [width.value]
    for _ in range(5):
        meter.pass_by(0.01, cpu=0.004)
        found.append(width.look([7]))
    assert found == [8, 16, 32, 64, 100, 100]
    assert Width(3).value == 3


@pytest.mark.parametrize("spent", [{"cpu": 0.01}, {"cpu": 0.004, "delay": 0.006}])
def test_while_they_wait_for_each_other_fewer_work_down_to_some(spent: dict[str, float]) -> None:
    meter = Meter()
    width = meter.width(100)
    for _ in range(4):
        meter.pass_by(0.01)
        width.look([7])
    found = [width.value]
    for _ in range(30):
        meter.pass_by(0.01, **spent)
        found.append(width.look([7]))
    assert found[:3] == [100, 88, 77]
    assert found[-1] == 8


def test_a_thread_that_is_new_brings_no_past_with_it() -> None:
    meter = Meter()
    width = meter.width(100)
    meter.pass_by(0.01, delay=5.0)
    width.begin([])
    meter.pass_by(0.01)
    assert width.look([7, 8]) == 16


def test_the_kernel_tells_of_threads_that_are_there() -> None:
    assert run_delay(threading.get_native_id()) >= 0
    assert run_delay(2**22 + 1) == 0
