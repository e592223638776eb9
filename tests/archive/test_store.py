"""The archive on each of the databases."""

import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from notify.deadletter import DeadLetter, read
from notify.errors import NotFound, StoreUnavailable
from notify.outcomes import Reason
from notify.store import Filter, Store
from notify.store.schema import VERSION
from tests.archive.conftest import on_sqlite
from tests.archive.letters import NOW, dead, raw, replayed
from tests.archive.strangers import bodies, headers

ALL = Filter()


def execute(store: Store, statement: str) -> list[Any]:
    with store._database.writing() as connection:
        found = connection.exec_driver_sql(statement)
        return list(found) if found.returns_rows else []


def writer(what: str, url: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "tests.archive.writers", what, url])


@pytest.mark.parametrize("letter", [dead(), raw(), dead(first_queued=None, notification=None)])
def test_a_letter_comes_back_as_it_was(store: Store, letter: DeadLetter) -> None:
    assert store.add([letter]) == 1
    (row,) = store.find(ALL)
    assert row.letter == letter
    assert (row.seq, row.count, row.state) == (1, 1, "open")
    assert row.archived_at.utcoffset() == timedelta(0)
    assert store.get(1) == [row]


def test_a_repeated_letter_is_one_row(store: Store) -> None:
    assert store.add([dead(), dead(), dead("n-2")]) == 2
    assert store.add([dead(detail="another"), dead("n-2"), dead("n-3")]) == 1
    assert [row.count for row in store.find(ALL)] == [1, 1, 1]
    assert store.get("n-1")[0].letter.detail == "550 no such user"


def test_only_what_has_no_id_is_counted(store: Store) -> None:
    assert store.add([raw(), raw()]) == 1
    assert store.add([raw(), raw(b"other")]) == 1
    assert sorted(row.count for row in store.find(ALL)) == [1, 3]


def test_generation_reason_and_content_make_another_letter(store: Store) -> None:
    others = [dead(generation=2), dead(reason=Reason.CONFLICT), dead(digest="d")]
    assert store.add([dead(), *others]) == 4
    assert len(store.get("n-1")) == 4


def test_nothing_to_add(store: Store) -> None:
    assert store.add([]) == 0


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(channel="email"), ["mail"]),
        (Filter(reason="conflict"), ["conflict"]),
        (Filter(provider="other"), ["other"]),
        (Filter(id="mail"), ["mail"]),
        (Filter(recipient="a@example.org"), ["mail"]),
        (Filter(state="replayed"), []),
        (Filter(labels=(("team", "Ops"),)), ["label"]),
        (Filter(labels=(("team", 'a"b'),)), ["quote"]),
        (Filter(labels=(("tea", "Ops"),)), []),
        (Filter(since=NOW + timedelta(hours=1)), ["late"]),
        (Filter(until=NOW), ["early"]),
        (Filter(since=NOW, until=NOW + timedelta(microseconds=1), channel="email"), ["mail"]),
        (Filter(limit=1), ["late"]),
        (Filter(limit=2, offset=1), ["quote", "label"]),
        (
            Filter(limit=None, channel="sms"),
            ["late", "quote", "label", "other", "conflict", "early"],
        ),
    ],
)
def test_filters(store: Store, wanted: Filter, found: list[str]) -> None:
    store.add(
        [
            dead("early", dead_at=NOW - timedelta(days=1)),
            dead("mail", channel="email", recipient="a@example.org"),
            dead("conflict", reason=Reason.CONFLICT),
            dead("other", attempts=({"provider": "acme"}, {"provider": "other"})),
            dead("label", labels={"team": "Ops", "x": "y"}),
            dead("quote", labels={"team": 'a"b'}),
            dead("late", dead_at=NOW + timedelta(hours=1)),
        ]
    )
    assert [row.letter.id for row in store.find(wanted)] == found
    if wanted.limit == 50:
        assert store.count(wanted) == len(found)


def test_counts(store: Store) -> None:
    store.add([dead("a"), dead("b"), dead("c", reason=Reason.CONFLICT), raw()])
    by_reason = {"recipient_refused": 2, "conflict": 1, "unparseable": 1}
    assert store.counts_by("reason", ALL) == by_reason
    assert store.counts_by("channel", ALL) == {"sms": 3, "": 1}
    assert store.counts_by("reason", Filter(channel="sms")) == {
        "recipient_refused": 2,
        "conflict": 1,
    }
    with pytest.raises(NotFound, match="must be one of"):
        store.counts_by("recipient", ALL)


def test_the_replays_of_an_earlier_release_are_told(store: Store) -> None:
    store.add([dead()])
    (row,) = store.get("n-1")
    assert store.replays_of(row.seq) == []
    replayed(store, row.seq, ok=False, note="broker away")
    assert store.get("n-1")[0].state == "open"
    replayed(store, row.seq)
    first, second = store.replays_of(row.seq)
    assert (first.state, first.note, first.actor, first.at) == ("failed", "broker away", "ann", NOW)
    assert (second.state, second.from_generation, second.new_generation) == ("published", 1, 2)
    store.add([dead()])
    assert store.get("n-1")[0].state == "replayed"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=bodies, headers=headers)
def test_whatever_was_read_can_be_stored(
    store: Store, body: bytes, headers: dict[str, Any]
) -> None:
    headers |= {"task": "notify.deliver"}
    letter = read(body=body, headers=headers, content_type=None, routing_key="\x00\ud800", now=NOW)
    store.add([letter])
    store.add([letter.evolve(id=f"{letter.id}\x00", recipient="\ud800", channel="\x00")])
    store.find(ALL)


@on_sqlite
def test_the_file_survives_a_power_cut_by_its_settings(store: Store) -> None:
    with store._database.writing() as connection:
        pragmas = ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        values = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas]
    assert values == ["wal", 2, 10000, 1]


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\ud800", "x" * 100_000, "%_\\'\"", "é"])
def test_whatever_is_searched_for_is_an_answer(store: Store, text: str) -> None:
    """Nothing is found, and nothing fails."""
    store.add([dead()])
    names = ("channel", "reason", "provider", "id", "recipient", "state", "code", "schedule")
    for name in (*names, "batch", "template", "text"):
        wanted = Filter(**{name: text})  # type: ignore[arg-type]
        assert store.find(wanted) == []
        assert store.counts_by("reason", wanted) == {}
    assert store.count(Filter(labels=((text, text), ("team", text)))) == 0
    assert store.counts_by(f"label.{text}", ALL) == {"": 1}
    assert store.get(text) == []


@pytest.mark.parametrize("number", [0, -1, 2**31, 2**63 - 1, 2**63, 10**40])
def test_numbers_that_no_letter_has(store: Store, number: int) -> None:
    store.add([dead()])
    assert store.get(number) == []
    assert store.find(Filter(offset=abs(number) + 1)) == []
    with pytest.raises(NotFound, match="there is no dead letter"):
        store.find(Filter(after=number))


def test_what_an_index_does_not_take_is_cut(store: Store) -> None:
    """Random text, which cannot be compressed, and the widest characters."""
    wide = "".join(map(chr, random.Random(1).choices(range(0x10000, 0x20000), k=5000)))
    attempts = ({"provider": wide, "code": wide},)
    store.add([dead(attempts=attempts, channel=wide, labels={wide: wide})])
    (row,) = store.find(ALL)
    assert row.letter.attempts == attempts
    assert row.letter.labels == {wide: wide}
    assert (row.letter.channel, row.code) == (wide[:256], wide[:256])
    assert store.count(Filter(labels=((wide, wide),), provider=wide[:256])) == 1


def test_creating_twice_changes_nothing(store: Store) -> None:
    store.add([dead()])
    store.create()
    store.check()
    assert store.count(ALL) == 1


def test_many_processes_may_create_at_once(empty_url: str) -> None:
    processes = [writer("create", empty_url) for _ in range(6)]
    assert [process.wait(30) for process in processes] == [0] * 6
    with closing(Store(empty_url)) as store:
        assert store.count(ALL) == 6


def test_threads_share_a_store(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        added = pool.map(lambda n: store.add([dead(f"n-{n}"), dead("shared")]), range(40))
    assert sum(added) == store.count(Filter(limit=None)) == 41


def test_a_writer_killed_before_its_commit_leaves_all_or_nothing(
    store: Store, archive_url: str
) -> None:
    assert writer("die", archive_url).wait(30) == -signal.SIGKILL
    assert [row.letter.id for row in store.find(ALL)] == ["n-committed"]
    assert store.add([dead(f"n-{number}") for number in range(1000)]) == 1000
    if archive_url.startswith("sqlite"):
        assert execute(store, "PRAGMA integrity_check") == [("ok",)]


@on_sqlite
def test_a_full_disk_says_so_and_loses_nothing(store: Store) -> None:
    store.add([dead("before")])
    with store._database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 4}")
    many = [dead(f"n-{number}") for number in range(500)]
    with pytest.raises(StoreUnavailable, match="database or disk is full") as caught:
        store.add(many)
    assert "4915112345678" not in f"{caught.value} {caught.value.__cause__}"
    assert [row.letter.id for row in store.find(ALL)] == ["before"]
    with store._database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert store.add(many) == 500


def test_a_newer_schema_is_not_touched(store: Store) -> None:
    execute(store, "UPDATE alembic_version SET version_num = '99'")
    for operation in (store.create, store.check):
        with pytest.raises(StoreUnavailable, match=f"schema 99, .* knows only {VERSION}"):
            operation()
    assert execute(store, "SELECT version_num FROM alembic_version") == [("99",)]


def test_without_tables(empty_url: str) -> None:
    said = 'no such table|relation "dead_letters" does not exist'
    with closing(Store(empty_url)) as store, pytest.raises(StoreUnavailable, match=said):
        store.find(ALL)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("this is not a database, but long enough to look like one " * 100)
    store = Store(f"sqlite:///{path}")
    with pytest.raises(StoreUnavailable, match="not a database"):
        store.create()
    store.close()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("nonsense", "ArgumentError"),
        ("sqlite:////proc/no/archive", "cannot be used"),
        ("mysql+pymysql://u:secret@h/d", "."),
        ("postgresql+nothing://u:secret@h/d", "NoSuchModuleError"),
    ],
)
def test_urls_that_cannot_be_used(url: str, problem: str) -> None:
    with pytest.raises(StoreUnavailable, match=problem) as caught:
        Store(url)
    assert "secret" not in str(caught.value)
