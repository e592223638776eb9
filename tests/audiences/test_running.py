"""One batch of a firing: its rows, their pace, and what becomes of it when something is wrong."""

import os
import tracemalloc
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from notify.errors import BrokerUnavailable, InvalidInput
from notify.schedule.audience.rows import write_rows
from notify.schedule.audience.running import Busy, Halted, NotYet
from notify.schedule.audience.spool import Spool
from notify.store.batches import CANCELLED, FINISHED, PAUSED, RUNNING, WITH_FAILURES
from tests.audiences import people
from tests.audiences.rig import HOUR, NOW, Rig, phone, table, to_many

GONE = NOW - 3 * HOUR


class Killed(BaseException):
    """As SIGKILL: nothing of ours runs after it."""


def test_each_row_is_sent_once_with_what_a_firing_has(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        "recipient,body,id,label.team\n"
        f"{phone(1)},,,a\n{phone(2)},Own text,order-7,\n12,,,\n0170 1234567,,,\n"
    )
    spec = to_many(file=str(path), expires_after="2h", labels={"team": "x"})
    batch = rig.go(rig.start(spec))
    assert (batch.state, batch.total, batch.sent, batch.rejected) == (WITH_FAILURES, 4, 2, 2)
    first, second = rig.wire.taken
    assert [first.id, second.id] == [f"{batch.name}:2", f"{batch.name}:3"]
    assert (first.body, second.body) == ("Hello", "Own text")
    assert first.labels == {
        "team": "a",
        "schedule": "bills",
        "planned": NOW.isoformat(),
        "actual": (NOW + timedelta(seconds=1)).isoformat(),
        "lag": "1",
    }
    assert (second.labels["row"], second.labels["team"]) == ("order-7", "x")
    assert first.expires_at == NOW + 2 * HOUR
    assert rig.spool.batches() == []


def test_the_next_firing_of_the_same_file_has_other_ids(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"id,recipient\nann,{phone(1)}\n")
    spec = to_many(file=str(path))
    for planned in (NOW - timedelta(days=7), NOW):
        rig.go(rig.start(spec, planned))
    assert len(set(rig.wire.ids)) == len(rig.wire.ids) == 2
    assert rig.wire.taken[0].digest == rig.wire.taken[1].digest


def test_a_template_sees_the_planned_instant(rig: Rig, tmp_path: Path) -> None:
    folder = rig.settings.templates / "bill"
    folder.mkdir()
    (folder / "template.toml").write_text(
        'description = "A bill."\n[variables]\n'
        'name = { type = "line", sample = "Ann" }\n'
        'occurrence_date = { type = "date", sample = 2027-03-01 }\n'
        'occurrence_lag = { type = "integer", sample = 1 }\n'
    )
    (folder / "sms.txt").write_text("{{ name }}: {{ occurrence_date }} {{ occurrence_lag }}")
    path = tmp_path / "people.jsonl"
    path.write_text(f'{{"recipient": "{phone(1)}", "var": {{"name": "Ann"}}}}\n')
    spec = to_many(file=str(path), template="bill", body=None)
    rig.go(rig.start(spec))
    made = rig.wire.taken[0]
    assert made.body is not None
    assert made.body.startswith("Ann: ")
    assert made.body.endswith(" 1")
    assert made.template == "bill"


def test_rows_of_a_function(rig: Rig) -> None:
    people.calls.clear()
    spec = to_many(python="tests.audiences.people:three", zone="Europe/Berlin")
    batch = rig.go(rig.start(spec))
    assert (batch.total, batch.sent, batch.rejected) == (5, 2, 3)
    assert people.calls == [NOW]
    assert str(people.calls[0].tzinfo) == "Europe/Berlin"
    own, filled = rig.wire.taken
    assert (own.id, own.body, own.labels["a"]) == (f"{batch.name}:1", "Own", "b")
    assert (filled.id, filled.body) == (f"{batch.name}:2", "Hello")
    assert filled.expires_at is not None
    assert filled.expires_at.year == 2099


def test_an_audience_of_nobody_is_finished(rig: Rig) -> None:
    batch = rig.go(rig.start(to_many(python="tests.audiences.people:none", spread="10m")))
    assert (batch.state, batch.total, batch.sent) == (FINISHED, 0, 0)


def test_rows_of_a_function_are_written_one_by_one(tmp_path: Path) -> None:
    def rows() -> Any:
        yield from ({"recipient": phone(n), "body": "x" * 2500} for n in range(4000))

    tracemalloc.start()
    with (tmp_path / "rows").open("wb") as file:
        write_rows(rows(), file, lambda: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "rows").stat().st_size > 10_000_000
    assert peak < 1_000_000


def test_rows_are_spread_evenly(rig: Rig, tmp_path: Path) -> None:
    spec = to_many(file=str(table(tmp_path / "people.csv", 20)), spread="1m")
    batch = rig.go(rig.start(spec))
    assert batch.rate == pytest.approx(20 / 60)
    assert batch.sent == 20
    began = rig.wire.times[0]
    for number, at in enumerate(rig.wire.times):
        assert at - began == pytest.approx(3 * number, abs=0.2)


def test_many_rows_a_second_are_spread_as_well(rig: Rig, tmp_path: Path) -> None:
    spec = to_many(file=str(table(tmp_path / "people.csv", 600)), spread="20s")
    rig.go(rig.start(spec))
    took = rig.wire.times[-1] - rig.wire.times[0]
    assert took == pytest.approx(20, abs=1.0)


def test_who_goes_on_keeps_the_pace(rig: Rig, tmp_path: Path) -> None:
    """Stopped for an hour, what is left is not sent all at once."""
    spec = to_many(file=str(table(tmp_path / "people.csv", 20)), spread="1m")
    name = rig.start(spec)
    run = rig.run(name)
    rig.wire.before = lambda count: run.stop() if count == 8 else None
    stopped = run.go()
    assert (stopped.state, stopped.owner) == (RUNNING, None)
    first = len(rig.wire.taken)
    assert 8 <= first <= 10
    rig.wire.clock.now += 3600
    batch = rig.go(name)
    assert (batch.state, len(set(rig.wire.ids)), len(rig.wire.ids)) == (FINISHED, 20, 20)
    took = rig.wire.times[-1] - rig.wire.times[first]
    assert took == pytest.approx(3 * (19 - first), abs=1.0)


def test_killed_in_the_middle_no_one_is_left_out(rig: Rig, tmp_path: Path) -> None:
    name = rig.start(to_many(file=str(table(tmp_path / "people.csv", 300))))

    def kill(count: int) -> None:
        if count == 137:
            raise Killed

    rig.wire.before = kill
    with pytest.raises(Killed):
        rig.go(name)
    rig.wire.before = lambda _: None
    batch = rig.go(name, alive=lambda _: False)
    assert (batch.state, batch.sent) == (FINISHED, 300)
    assert len(set(rig.wire.ids)) == 300
    assert len(rig.wire.ids) <= 320


def test_a_file_that_is_overwritten_meanwhile_changes_nothing(rig: Rig, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", 100)
    name = rig.start(to_many(file=str(path)))
    run = rig.run(name)
    rig.wire.before = lambda count: run.stop() if count == 40 else None
    run.go()
    assert rig.spool.batches() == [name]
    table(path, 100, start=5000)
    batch = rig.go(name)
    assert (batch.state, batch.sent) == (FINISHED, 100)
    assert {each.recipient for each in rig.wire.taken} == {phone(n) for n in range(1, 101)}
    assert rig.spool.batches() == []


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_on_another_host_only_the_same_file_will_do(rig: Rig, tmp_path: Path, how: str) -> None:
    path = table(tmp_path / "people.csv", 100)
    before = path.read_bytes()
    name = rig.start(to_many(file=str(path)))
    run = rig.run(name)
    rig.wire.before = lambda count: run.stop() if count == 40 else None
    run.go()
    other = Spool(tmp_path / "other-host")
    if how == "changed":
        table(path, 100, start=5000)
    else:
        path.unlink()
    sent = len(rig.wire.ids)
    problem = "is not what it was; it began on host" if how == "changed" else "cannot be read"
    with pytest.raises(Halted, match=problem):
        rig.go(name, spool=other)
    batch = rig.stored(name)
    assert (batch.state, batch.owner, len(rig.wire.ids)) == (PAUSED, None, sent)
    assert problem in batch.source["why"]
    assert other.batches() == []
    with pytest.raises(Busy):
        rig.go(name, spool=other)
    path.write_bytes(before)
    batch = rig.go(name, spool=other, only=(PAUSED,))
    assert (batch.state, batch.sent, len(set(rig.wire.ids))) == (FINISHED, 100, 100)
    assert "why" not in batch.source


def test_a_function_that_gives_others_is_not_gone_on_with_elsewhere(
    rig: Rig, tmp_path: Path
) -> None:
    name = rig.start(to_many(python="tests.audiences.people:changing"))
    run = rig.run(name)
    rig.wire.before = lambda count: run.stop() if count == 40 else None
    run.go()
    with pytest.raises(Halted, match="people:changing: it or its template is not what it was"):
        rig.go(name, spool=Spool(tmp_path / "other-host"))
    assert rig.batches.order(name, RUNNING, (PAUSED,))
    assert rig.go(name).sent == 100


def test_a_template_that_changed_pauses_it(rig: Rig, tmp_path: Path) -> None:
    folder = rig.settings.templates / "bill"
    folder.mkdir()
    (folder / "template.toml").write_text('description = "A bill."\n')
    (folder / "sms.txt").write_text("Hello")
    path = table(tmp_path / "people.csv", 100)
    name = rig.start(to_many(file=str(path), template="bill", body=None))
    run = rig.run(name)
    rig.wire.before = lambda count: run.stop() if count == 40 else None
    run.go()
    (folder / "sms.txt").write_text("Good-bye")
    with pytest.raises(Halted, match="it or its template is not what it was"):
        rig.go(name)
    assert {each.body for each in rig.wire.taken} == {"Hello"}
    (folder / "sms.txt").write_text("Hello")
    assert rig.go(name, only=(PAUSED,)).sent == 100


def test_what_cannot_be_read_yet_is_tried_again_while_it_is_not_too_late(
    rig: Rig, tmp_path: Path
) -> None:
    path = table(tmp_path / "people.csv", 3)
    spec = to_many(file=str(path))
    names = [rig.start(spec), rig.start(spec, GONE)]
    path.unlink()
    with pytest.raises(NotYet, match="cannot be read"):
        rig.go(names[0])
    assert (rig.stored(names[0]).state, rig.stored(names[0]).owner) == (RUNNING, None)
    with pytest.raises(Halted, match="cannot be read"):
        rig.go(names[1])
    assert rig.stored(names[1]).state == PAUSED
    table(path, 3)
    assert rig.go(names[0]).sent == 3
    assert rig.go(names[1], only=(PAUSED,)).sent == 3


def test_a_file_that_cannot_be_told_into_rows_sends_nothing(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f'recipient,body\n{phone(1)},a\n{phone(2)},"b\n{phone(3)},c\n')
    for planned, error in ((NOW, NotYet), (GONE, Halted)):
        with pytest.raises(error, match="is a quotation mark missing"):
            rig.go(rig.start(to_many(file=str(path)), planned))
    assert (rig.wire.taken, rig.spool.batches()) == ([], [])
    table(path, 3)
    assert rig.go(rig.start(to_many(file=str(path)), NOW)).sent == 3
    assert rig.go(rig.start(to_many(file=str(path)), GONE), only=(PAUSED,)).sent == 3


def test_a_function_that_fails_is_told_by_its_name_only(rig: Rig) -> None:
    name = rig.start(to_many(python="tests.audiences.people:failing"), GONE)
    with pytest.raises(Halted) as error:
        rig.go(name)
    assert str(error.value) == "tests.audiences.people:failing: failed with OSError"
    assert rig.wire.taken == []


def test_paused_and_cancelled_by_others(rig: Rig, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", 200)
    name = rig.start(to_many(file=str(path), spread="20s"))

    def order(state: str, at: int) -> None:
        def act(count: int) -> None:
            if count == at:
                assert rig.batches.order(name, state, (RUNNING,))

        rig.wire.before = act

    order(PAUSED, 50)
    assert rig.go(name).state == PAUSED
    assert len(rig.wire.ids) <= 60
    assert rig.spool.batches() == [name]
    with pytest.raises(Busy):
        rig.go(name)
    order(CANCELLED, 100)
    batch = rig.go(name, only=(RUNNING, PAUSED))
    assert batch.state == CANCELLED
    assert len(set(rig.wire.ids)) == len(rig.wire.ids) <= 110
    assert rig.spool.batches() == []


def test_a_broker_that_is_away_leaves_it_to_be_gone_on_with(rig: Rig, tmp_path: Path) -> None:
    name = rig.start(to_many(file=str(table(tmp_path / "people.csv", 30))))
    rig.wire.answer = lambda _: BrokerUnavailable("RabbitMQ cannot be reached")
    with pytest.raises(BrokerUnavailable):
        rig.go(name)
    assert (rig.stored(name).state, rig.stored(name).owner) == (RUNNING, None)
    rig.wire.answer = lambda _: None
    assert rig.go(name).state == FINISHED


def test_too_many_that_cannot_be_published_pause_it_with_the_reason(
    rig: Rig, tmp_path: Path
) -> None:
    name = rig.start(to_many(file=str(table(tmp_path / "people.csv", 1500))))
    rig.wire.answer = lambda _: InvalidInput("no such thing")
    with pytest.raises(Halted, match="1000 rows could not be published"):
        rig.go(name)
    batch = rig.stored(name)
    assert (batch.state, batch.failed) == (PAUSED, 1000)
    assert "1000 rows" in batch.source["why"]
    rig.wire.answer = lambda _: None
    assert rig.go(name, only=(PAUSED,)).sent == 1500


def test_its_rows_are_there_for_questions_while_they_are_the_same(rig: Rig, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", 10, wrong=[3])
    name = rig.start(to_many(file=str(path)))
    batch = rig.go(name)
    with rig.audiences.rows(batch) as rows:
        found = list(rows.rows())
    assert [row.number for row in found] == list(range(2, 12))
    assert [row.notification.id for row in found if row.notification] == rig.wire.ids
    table(path, 11)
    with (
        pytest.raises(InvalidInput, match="is not what it was"),
        rig.audiences.rows(batch) as rows,
    ):
        pass
    assert os.listdir(tmp_path / "state" / "audiences") == []  # noqa: PTH208
