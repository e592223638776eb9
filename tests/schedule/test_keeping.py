"""Beside the firing: the comparison with the database, the history, and what is told of both."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from notify.errors import InvalidInput, NotifyError, StoreUnavailable
from notify.recurrence import Recurrence, occurrence_id
from notify.schedule import Book, ScheduleSpec
from notify.schedule import happened as happened_module
from notify.schedule.firing import Firing
from notify.schedule.happened import Recording
from notify.schedule.keeping import Ended, Keeper, Keeping
from notify.schedule.patience import Patient
from notify.schedule.spec import Audience
from notify.store.occurrences import FIRED, Occurrence
from tests.schedule.rig import NOON, Rig
from tests.waiting import eventually

pytestmark = pytest.mark.redis


class Looks:
    """A keeper that remembers its looks, and fails when told to."""

    def __init__(self) -> None:
        self.beginnings: list[bool] = []
        self.error: Exception | None = None

    def look(self, *, beginning: bool = False) -> None:
        self.beginnings.append(beginning)
        if self.error is not None:
            raise self.error

    @contextmanager
    def opened(self, alive: Callable[[], None]) -> Iterator[Keeper]:
        self.alive = alive
        yield self


def test_a_term_begins_with_a_look_and_once(rig: Rig) -> None:
    looks, stopping = Looks(), threading.Event()
    keeping = Keeping(looks.opened, rig.leader, stopping)
    signs: list[bool] = []
    keeping.begin(rig.leader.term(), lambda: signs.append(True))
    assert looks.beginnings == [True]
    assert signs
    looks.alive()
    rig.leader.doubt()
    with pytest.raises(Ended):
        looks.alive()
    stopping.set()
    keeping.close()


@pytest.mark.parametrize("error", [StoreUnavailable(), Ended(), ZeroDivisionError("a secret")])
def test_a_look_that_fails_keeps_nobody_from_firing(
    rig: Rig, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    looks, stopping = Looks(), threading.Event()
    looks.error = error
    keeping = Keeping(looks.opened, rig.leader, stopping)
    keeping.begin(rig.leader.term())
    keeping.begin(another_term(rig))
    said = caplog.text.count("schedules not compared with the database")
    assert said == (0 if isinstance(error, Ended) else 1)
    assert "a secret" not in caplog.text
    stopping.set()
    keeping.close()


def test_a_database_that_is_away_at_the_start_is_opened_later(rig: Rig) -> None:
    looks, stopping, away = Looks(), threading.Event(), [True]

    @contextmanager
    def opened(alive: Callable[[], None]) -> Iterator[Keeper]:
        if away[0]:
            raise StoreUnavailable
        yield looks

    keeping = Keeping(opened, rig.leader, stopping)
    keeping.begin(rig.leader.term())
    assert looks.beginnings == []
    away[0] = False
    keeping.begin(another_term(rig))
    assert looks.beginnings == [True]
    stopping.set()
    keeping.close()


def test_a_database_that_never_answers_holds_up_no_firing(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """One that is stopped, not dead, keeps its connections: nothing ever fails there."""
    looks, stopping, answers = Looks(), threading.Event(), threading.Event()

    @contextmanager
    def opened(alive: Callable[[], None]) -> Iterator[Keeper]:
        answers.wait()
        yield looks

    keeping = Keeping(opened, rig.leader, stopping, patience=0.1)
    rig.scheduler._desk = replace(rig.scheduler._desk, keeping=keeping)
    spec = rig.put("tick", every=60)
    assert rig.look(60) == [occurrence_id(spec.name, rig.now)]
    assert "schedules not compared with the database" in caplog.text
    assert looks.beginnings == []
    answers.set()
    eventually(lambda: looks.beginnings == [True], "the look when it answers again")
    stopping.set()
    keeping.close()


def another_term(rig: Rig) -> int:
    rig.raw.delete(rig.book.shelf.lock)
    rig.leader.attempt()
    return rig.leader.term()


class Hanging:
    """A fan-out that answers when it is let."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked = 0

    def check(self, spec: ScheduleSpec) -> None:
        raise InvalidInput("file: cannot be read")

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        self.asked += 1
        self.answers.wait()
        return f"batch of {spec.name}"


def test_an_archive_that_never_answers_holds_up_no_firing_but_its_own(rig: Rig) -> None:
    hanging = Hanging()
    patient = Patient(hanging, patience=0.1)
    firing = Firing(rig.settings, rig.wire, fanout=patient)  # type: ignore[arg-type]
    rig.scheduler._desk = rig.scheduler._settling._desk = replace(
        rig.scheduler._desk, firing=firing
    )
    many = ScheduleSpec(
        name="a", recurrence=Recurrence(every=60), audience=Audience(python="shop:customers")
    )
    with closing(Book(rig.settings, fanout=Anybody())) as book:
        for name in ("a", "b"):
            book.put(many.evolve(name=name), now=rig.now)
    rig.put("c", every=60)
    assert rig.look(60) == [occurrence_id("c", rig.now)]
    assert hanging.asked == 1
    trouble = [rig.book.get(name).trouble for name in ("a", "b")]
    assert trouble[0] == "the archive's database does not answer"
    assert trouble[1]
    hanging.answers.set()
    eventually(lambda: not patient.stuck, "its answer")
    rig.look(6)
    assert sorted(rig.outcomes(3)) == [(name, "fired", 1) for name in "abc"]
    assert {each.ref for each in rig.kept.happened} > {"batch of a", "batch of b"}
    with pytest.raises(InvalidInput, match="file: cannot be read"):
        patient.check(many)


class Anybody:
    """Takes every audience."""

    def check(self, spec: ScheduleSpec) -> None:
        """All are taken."""

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        raise NotImplementedError


class Slow:
    """A recorder that takes what it is given when it is let."""

    def __init__(self) -> None:
        self.got: list[Occurrence] = []
        self.away = True

    def record(self, happened: Sequence[Occurrence]) -> None:
        if self.away:
            raise StoreUnavailable
        self.got += happened


def facts(count: int) -> list[Occurrence]:
    return [
        Occurrence(schedule=f"s{n}", planned=NOON, actual=NOON, outcome=FIRED) for n in range(count)
    ]


def test_of_too_much_history_the_oldest_is_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(happened_module, "_PAUSE", 0.01)
    caplog.set_level("INFO")
    slow = Slow()
    recording = Recording(slow, most=10)
    recording.add(facts(25))
    eventually(lambda: "history not kept for now" in caplog.text, "trouble")
    slow.away = False
    eventually(lambda: len(slow.got) == 10, "the last ten")
    assert [each.schedule for each in slow.got] == [f"s{n}" for n in range(15, 25)]
    eventually(lambda: "history kept again" in caplog.text, "its end")
    recording.close()


def test_what_is_left_at_the_end_is_handed_over_or_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow = Slow()
    slow.away = False
    recording = Recording(slow)
    recording.add(facts(3000))
    recording.close()
    assert len(slow.got) == 3000
    slow.away = True
    recording = Recording(slow)
    recording.add(facts(1))
    recording.close()
    assert "history not kept" in caplog.text


def test_how_late_it_was_is_told() -> None:
    late = Occurrence(schedule="s", planned=NOON, actual=NOON + timedelta(seconds=3), outcome=FIRED)
    assert late.lag == timedelta(seconds=3)


def test_an_error_that_nobody_thought_of_ends_no_beat(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.put("hourly", every="1h")

    def odd(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret")

    with monkeypatch.context() as patch:
        patch.setattr(rig.book.shelf, "look", odd)
        assert rig.look(3600) == []
        assert rig.statuses[-1].startswith("leading, waiting: ZeroDivisionError at ")
        assert "a secret" not in rig.statuses[-1]
    assert len(rig.look(1)) == 1


def test_a_beat_that_can_never_lead_again_ends(rig: Rig) -> None:
    rig.leader.died = True
    with pytest.raises(NotifyError, match="the thread that keeps the lock has ended"):
        rig.look()


def test_what_is_counted(rig: Rig) -> None:
    rig.put("minutely", every=60)
    rig.put("paused", every=60)
    rig.book.pause("paused")
    rig.look(130)
    samples = {
        (sample.name, tuple(sample.labels.values())): sample.value
        for metric in rig.metrics.registry.collect()
        for sample in metric.samples
    }
    assert samples["notify_schedule_occurrences_total", ("fired",)] == 1
    assert samples["notify_schedule_occurrences_total", ("skipped",)] == 1
    assert samples["notify_schedules", ("stored",)] == 2
    assert samples["notify_schedules", ("paused",)] == 1
    assert samples["notify_schedule_lag_seconds_count", ()] == 1
    assert samples["notify_beat_tick_seconds_count", ()] == 1
    rig.raw.set(rig.book.shelf.lock, "another")
    rig.leader.attempt()
    rig.look(1)
    # A beat that stands by would go on telling what it found when it led.
    told = {metric.name: metric.samples for metric in rig.metrics.registry.collect()}
    assert told["notify_schedules"] == []
