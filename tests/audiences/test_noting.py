"""What is noted of a firing, who may be sent to, and under which names it is found."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import pytest

from notify.errors import InvalidInput, StoreUnavailable
from notify.schedule.audience import FanOrder, Spool, batch_name, is_firing
from notify.schedule.audience.spool import spool_directory
from notify.schedule.audiences import Audiences
from notify.store.facets import batch_of, schedule_of
from tests.audiences.rig import HOUR, Rig, table, to_many

PLANNED = datetime(2027, 3, 1, 8, tzinfo=UTC)


def one_line(file: BinaryIO) -> None:
    file.write(b"1\n")


def test_a_firing_is_noted_once_however_often_it_is_started(rig: Rig, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", 3)
    spec = to_many(file=str(path), spread="10m")
    name = rig.audiences.start(spec, PLANNED, PLANNED + timedelta(seconds=2))
    assert name == "schedule-bills-20270301T080000Z"
    path.unlink()
    later = spec.evolve(content={"channel": "sms", "body": "Other"})
    assert rig.audiences.start(later, PLANNED, PLANNED + HOUR) == name
    batch = rig.stored(name)
    assert is_firing(batch)
    order = FanOrder.from_dict(batch.source)
    assert order == FanOrder(spec=spec, planned=PLANNED, actual=PLANNED + timedelta(seconds=2))
    assert (order.batch, batch.state, batch.total) == (name, "running", None)
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        rig.audiences.start(spec, PLANNED + HOUR, PLANNED + HOUR)


def test_without_an_archive_nothing_is_noted(rig: Rig, tmp_path: Path) -> None:
    archive = rig.settings.archive.model_copy(update={"url": "postgresql://127.0.0.1:1/none"})
    spec = to_many(file=str(table(tmp_path / "people.csv", 3)))
    with (
        Audiences(rig.settings.model_copy(update={"archive": archive})) as away,
        pytest.raises(StoreUnavailable),
    ):
        away.start(spec, PLANNED, PLANNED)


def test_rows_of_an_audience_are_found_by_schedule_and_batch() -> None:
    longest = "a" * 64
    for name in ("bills", "a-b_c", "s-20270301t080000z", longest):
        for planned in (PLANNED, PLANNED + timedelta(microseconds=7)):
            batch = batch_name(name, planned)
            assert len(batch) <= 96
            assert (schedule_of(f"{batch}:17"), batch_of(f"{batch}:17", {})) == (name, batch)
    for other in ("schedule-x:1", "schedule-X-20270301T080000Z:1", "schedule-a-20270301T080000Z"):
        assert schedule_of(other) is None
    assert schedule_of("schedule:a:20270301T080000Z") == "a"


def test_who_cannot_be_sent_to_is_refused(rig: Rig, tmp_path: Path) -> None:
    good = table(tmp_path / "people.csv", 3)
    rig.audiences.check(to_many(file=str(good)))
    rig.audiences.check(to_many(python="tests.audiences.people:three"))
    rig.audiences.check(to_many(file=str(table(tmp_path / "few.csv", 30, wrong=[1, 2, 3]))))
    empty = tmp_path / "empty.csv"
    empty.write_text("recipient\n")
    rig.audiences.check(to_many(file=str(empty)))
    strange = tmp_path / "strange.csv"
    strange.write_text("name\nAnn\n")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("recipient,body\n+491701234567,Grüße\n".encode("latin-1"))
    rig.audiences.check(to_many(file={"path": str(latin), "encoding": "latin-1"}))
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    for values, problem in (
        ({"file": "people.csv"}, "file: must be an absolute path"),
        ({"file": str(tmp_path / "no.csv")}, "no.csv: cannot be read: No such file"),
        ({"file": str(tmp_path)}, "cannot be read: Is a directory"),
        ({"file": str(pipe)}, "rows: is no file"),
        ({"file": str(strange)}, "strange.csv:1: unknown column 'name'"),
        ({"file": str(latin)}, "latin.csv:2: column body: has bytes that are not"),
        ({"file": str(good), "channel": None}, "people.csv:1: column 'channel' is missing"),
        ({"file": str(good), "body": None}, "people.csv:2: column body: is required"),
        ({"file": str(table(tmp_path / "bad.csv", 9, wrong=range(99)))}, "bad.csv:2: column"),
        ({"python": "tests.audiences.people:nobody"}, "python: module .* has no nobody"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            rig.audiences.check(to_many(**values))


def test_copies_are_private_and_complete_or_not_there(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "new" / "audiences")
    assert spool.batches() == []

    def fails(file: object) -> None:
        raise InvalidInput("the source went away")

    with pytest.raises(InvalidInput):
        spool.make("a", fails)
    assert (spool.batches(), spool.open("a")) == ([], None)
    with spool.make("a", one_line) as made:
        assert made.read() == b"1\n"
    path = tmp_path / "new" / "audiences" / "a"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["a"]
    spool.make("b", one_line, keep=False).close()
    assert spool.batches() == ["a"]
    spool.remove("a")
    spool.remove("a")
    assert spool.batches() == []


def test_without_a_directory_a_copy_lasts_while_it_is_open() -> None:
    spool = Spool(None)
    with spool.make("a", one_line) as made:
        made.seek(0)
        assert made.read() == b"1\n"
    assert (spool.open("a"), spool.batches()) == (None, [])
    spool.remove("a")


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(InvalidInput, match=r"no private copy .* No space left on device"):
        Spool(tmp_path).make("a", full)


def test_where_copies_lie(rig: Rig, tmp_path: Path) -> None:
    assert spool_directory(rig.settings, {}) == tmp_path / "state" / "audiences"
    archive = rig.settings.archive.model_copy(update={"url": "postgresql://u@h/d"})
    other = rig.settings.model_copy(update={"archive": archive})
    assert spool_directory(other, {}) is None
    state = {"STATE_DIRECTORY": "/var/lib/notify:/other"}
    assert spool_directory(other, state) == Path("/var/lib/notify/audiences")


def test_what_is_swept(rig: Rig, tmp_path: Path) -> None:
    spec = to_many(file=str(table(tmp_path / "people.csv", 3)))
    name = rig.start(spec)
    for batch in (name, "schedule-gone-20270301T080000Z"):
        rig.spool.make(batch, one_line).close()
    rig.audiences.sweep()
    assert rig.spool.batches() == [name]
    assert rig.batches.order(name, "cancelled", ("running",))
    rig.audiences.sweep()
    assert rig.spool.batches() == []
