"""Archives of earlier versions, and many processes that find them at once."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from notify.errors import StoreUnavailable
from notify.store import SCHEMA, Filter, Store
from notify.store import facets as facets_module
from notify.store.batches import BATCH_FAILURES, BATCHES, Batch, Batches
from notify.store.tables import METADATA
from tests.archive.letters import NOW, dead, raw

# Made by the program as it was before there were migrations.
FIRST = (Path(__file__).parent / "schema1.sql").read_text(encoding="utf-8")


def prepare(path: Path, script: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(script)
    return f"sqlite:///{path}"


def fill(url: str, script: str = FIRST) -> str:
    """The same in any database."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir(parents=True, exist_ok=True)
        return prepare(path, script)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_for_postgresql(script))
    return url


def _for_postgresql(script: str) -> str:
    script = re.sub(r"(INSERT|DELETE)[^;]*sqlite_sequence[^;]*;", "", script)
    script = script.replace("INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", "BIGSERIAL PRIMARY KEY")
    script = script.replace("dead_seq INTEGER", "dead_seq BIGINT").replace("BLOB", "BYTEA")
    script = script.replace("X'FF006A756E6B'", r"'\xFF006A756E6B'").replace(
        "SELECT NULL", "SELECT x + 3"
    )
    for table in ("dead_letters", "replays"):
        script += f"SELECT setval('{table}_seq_seq', (SELECT max(seq) FROM {table}));"
    return script


@pytest.fixture
def old(empty_url: str) -> Iterator[Store]:
    with closing(Store(fill(empty_url))) as opened:
        yield opened


def test_an_archive_from_before_is_adopted_without_loss(old: Store) -> None:
    assert old.version() == 1
    old.create()
    assert old.version() == SCHEMA
    first, second, third = old.find(Filter(oldest=True))
    assert (first.state, first.code, first.batch) == ("replayed", "451", "file-2f")
    assert (second.schedule, second.template) == ("stand-up", "welcome")
    assert third.letter.raw == b"\xff\x00junk"
    assert [(each.actor, each.state) for each in old.replays_of(1)] == [("ann", "published")]
    assert old.add([raw(), dead("new")]) == 1
    old.check()


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(labels=(("team", "Ops"),)),
        Filter(labels=(("quote", 'a"b'),)),
        Filter(recipient="+4915112345678"),
        Filter(text="привет", batch="file-2f"),
    ],
)
def test_what_was_there_before_is_found_like_what_is_new(old: Store, wanted: Filter) -> None:
    old.create()
    assert [row.seq for row in old.find(wanted)] == [1]


def test_many_letters_are_read_some_at_a_time(empty_url: str) -> None:
    more = """
    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2500)
    INSERT INTO dead_letters SELECT NULL, 'i' || x, 'many:' || x, 1, 1, NULL, 'sms', 'normal',
    NULL, NULL, 'refused', '', NULL, '[]', '{}', '{}', NULL, NULL, NULL, x, x, 1, 'open' FROM n;
    """
    with closing(Store(fill(empty_url, FIRST + more))) as store:
        store.create()
        assert store.counts_by("batch", Filter()) == {"many": 2500, "": 2, "file-2f": 1}


def test_a_migration_that_fails_has_not_begun(old: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(facets_module, "words", broken)
        with pytest.raises(StoreUnavailable, match="No space left"):
            old.create()
    assert old.version() == 1
    old.create()
    assert old.count(Filter()) == 3


def test_many_processes_find_it_at_once(old: Store, empty_url: str) -> None:
    program = [sys.executable, "-m", "tests.archive.writers", "create", empty_url]
    processes = [subprocess.Popen(program) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert old.count(Filter()) == 3 + 4


def test_the_migrations_make_what_the_code_describes(old: Store, store: Store) -> None:
    """From an archive of before, and from nothing."""
    old.create()
    for each in (old, store):
        with each._database.reading() as connection:
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, METADATA) == []


def test_batches_of_before_are_adopted(old: Store, empty_url: str) -> None:
    """Their tables were created apart from the migrations."""
    with old._database.writing() as connection:
        METADATA.create_all(connection, tables=[BATCHES, BATCH_FAILURES])
    with closing(Batches(empty_url)) as batches:
        batches.add(Batch(name="from-before"))
        batches.create()
        assert batches.get("from-before") is not None
    assert old.version() == SCHEMA


@pytest.mark.parametrize("number", [SCHEMA + 1, 99])
def test_a_newer_archive_is_left_alone(old: Store, number: int) -> None:
    old.create()
    with old._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{number}'")
    with pytest.raises(StoreUnavailable, match=f"schema {number}, and this program knows only"):
        old.create()
    assert old.version() == number


def test_a_newer_archive_of_the_old_kind_too(empty_url: str) -> None:
    script = f"{FIRST};UPDATE meta SET value = 77;"
    with closing(Store(fill(empty_url, script))) as store:
        with pytest.raises(StoreUnavailable, match="schema 77"):
            store.create()
        assert store.version() == 77


def test_a_program_from_before_does_not_work_on_the_new_schema(old: Store) -> None:
    """It looks into ``meta``."""
    old.create()
    with old._database.reading() as connection:
        query = "SELECT value FROM meta WHERE name = 'schema'"
        assert connection.exec_driver_sql(query).scalar() == SCHEMA


def test_a_version_that_nobody_knows(old: Store) -> None:
    old.create()
    with old._database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'abc'")
    with pytest.raises(StoreUnavailable, match="not written by this program"):
        old.create()


def test_reading_needs_no_lock(store: Store, archive_url: str) -> None:
    """What only looks something up does not wait for a writer."""
    with (
        closing(Store(archive_url)) as other,
        store._database.writing(),
    ):
        other.create()
        assert other.find(Filter(since=NOW)) == []
