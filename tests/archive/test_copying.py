"""An archive that moves from one database to another, and back."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from notify.errors import InvalidInput, StoreUnavailable
from notify.outcomes import Reason
from notify.store import SCHEMA, Filter, Purge, Store
from notify.store.batches import Batch, Batches, BatchFailure, BatchProgress
from notify.store.tables import METADATA
from tests.archive.conftest import on_postgresql, on_sqlite
from tests.archive.letters import dead, raw, replayed
from tests.postgres import PostgresServer

ALL = Filter(limit=None)


def say_nothing(_: str, __: int) -> None:
    """Tell nobody."""


@pytest.fixture
def filled(store: Store, archive_url: str) -> Store:
    """Something in many tables; the last letter was deleted, and its number is not free."""
    many = [dead(f"n-{n}", labels={"team": f"t-{n % 3}", "ünï": "✓"}) for n in range(1203)]
    store.add([*many, raw(b"\x00\xff"), raw(b""), dead("last", reason=Reason.CONFLICT)])
    replayed(store, 2)
    store.note_reveal("ann", "dead show 2", 1)
    store.purge(Purge(wanted=Filter(id="last"), open_before=None, keep=0))
    with closing(Batches(archive_url)) as batches:
        batches.add(Batch(name="b", rate=2.5, total=7))
        batches.take("b", "me", lambda _: False, 0)
        failure = BatchFailure(number=3, id="b:3", error="no")
        batches.save("b", "me", BatchProgress(cursor=4, failures=(failure,)))
    return store


@contextmanager
def other_kind(url: str, directory: Path, postgres: PostgresServer) -> Iterator[Store]:
    if url.startswith("postgresql"):
        with closing(Store(f"sqlite:///{directory}/other.sqlite3")) as opened:
            yield opened
        return
    with postgres.database(empty=True) as made, closing(Store(made)) as opened:
        yield opened


@pytest.fixture
def target(archive_url: str, tmp_path: Path, postgres: PostgresServer) -> Iterator[Store]:
    with other_kind(archive_url, tmp_path, postgres) as opened:
        yield opened


def rows(store: Store) -> dict[str, list[Any]]:
    with store._database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in METADATA.sorted_tables
        }


def test_all_that_is_there_arrives(filled: Store, target: Store) -> None:
    told: dict[str, int] = {}

    def tell(table: str, more: int) -> None:
        told[table] = told.get(table, 0) + more

    copied = filled.copy_to(target, tell)
    assert copied == filled.content() == target.content()
    assert told == {name: number for name, number in copied.items() if number}
    assert (copied["dead_letters"], copied["batch_failures"]) == (1205, 1)
    assert rows(target) == rows(filled)
    assert target.find(ALL) == filled.find(ALL)
    assert target.version() == SCHEMA


def test_numbers_of_what_was_deleted_are_not_given_again(filled: Store, target: Store) -> None:
    filled.copy_to(target, say_nothing)
    for each in (filled, target):
        each.add([dead("next")])
    assert target.get("next")[0].seq == filled.get("next")[0].seq == 1207
    target.note_reveal("ann", "dead show 3", 1)
    assert len(target.reveals(10)) == 2


def test_a_copy_of_a_copy(filled: Store, target: Store, tmp_path: Path) -> None:
    filled.copy_to(target, say_nothing)
    with closing(Store(f"sqlite:///{tmp_path}/third.sqlite3")) as third:
        target.copy_to(third, say_nothing)
        assert rows(third) == rows(filled)


def test_a_copy_that_is_interrupted_has_left_nothing(filled: Store, target: Store) -> None:
    def stop(table: str, _: int) -> None:
        if table == "dead_labels":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.copy_to(target, stop)
    assert target.count(ALL) == 0
    target.check_empty()
    filled.copy_to(target, say_nothing)
    assert target.count(ALL) == 1205


def test_what_is_added_meanwhile_stays_behind(
    filled: Store, target: Store, archive_url: str
) -> None:
    def add_more(table: str, _: int) -> None:
        if table in ("dead_letters", "dead_labels"):
            with closing(Store(archive_url)) as writer:
                writer.add([dead("meanwhile", labels={"a": "b"})])

    filled.copy_to(target, add_more)
    assert (target.count(ALL), filled.count(ALL)) == (1205, 1206)
    assert target.count(Filter(labels=(("a", "b"),))) == 0


def test_a_target_that_is_not_empty(filled: Store, target: Store) -> None:
    target.create()
    target.check_empty()
    target.add([dead("there")])
    for use in (target.check_empty, lambda: filled.copy_to(target, say_nothing)):
        with pytest.raises(InvalidInput, match=r"not empty.*: 1 in dead_letters, 1 in dead"):
            use()
    assert target.count(ALL) == 1


def test_onto_itself(filled: Store) -> None:
    with pytest.raises(InvalidInput, match="not empty"):
        filled.copy_to(filled, say_nothing)


def test_a_target_of_a_newer_schema(filled: Store, target: Store) -> None:
    target.create()
    with target._database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '99'")
    with pytest.raises(StoreUnavailable, match="schema 99"):
        filled.copy_to(target, say_nothing)


@on_sqlite
def test_a_row_that_does_not_fit(filled: Store, target: Store) -> None:
    """SQLite keeps no lengths; the message says where, and not what."""
    with filled._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE dead_letters SET id = '{'x' * 200}' WHERE seq = 700")
    with pytest.raises(StoreUnavailable, match=r"dead_letters, rows 501 to 1000: .*nothing") as e:
        filled.copy_to(target, say_nothing)
    assert "xxx" not in str(e.value)
    assert target.count(ALL) == 0


@on_sqlite
def test_texts_that_only_sqlite_takes(filled: Store, target: Store) -> None:
    with filled._database.writing() as connection:
        connection.exec_driver_sql("UPDATE reveals SET what = 'a' || char(0) || 'b'")
    filled.copy_to(target, say_nothing)
    assert target.reveals(1)[0].what == "a\N{REPLACEMENT CHARACTER}b"


@on_postgresql
def test_a_server_that_is_impatient(filled: Store, target: Store, archive_url: str) -> None:
    with filled._database.writing() as connection:
        name = archive_url.rpartition("/")[2]
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET statement_timeout = '30ms'")
    with closing(Store(archive_url)) as impatient, impatient._database.snapshot() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(0.1)")
