"""What is deleted, and what stays."""

import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from notify.errors import InvalidInput, StoreUnavailable
from notify.outcomes import Reason
from notify.store import SCHEMA, Filter, Purge, Store, inspect_backup
from notify.store.batches import Batch
from notify.store.replayrows import ReplayLetter, ReplayRun
from notify.store.replays import Replays
from tests.archive.conftest import on_sqlite
from tests.archive.letters import NOW, dead, replayed

DAY = timedelta(days=1)


@pytest.fixture
def filled(store: Store) -> Store:
    """Six letters, one a day; the first three are replayed."""
    reasons = (Reason.REFUSED, Reason.CONFLICT)
    store.add(
        [dead(f"n-{n}", dead_at=NOW + n * DAY, reason=reasons[n % 2]) for n in range(6)],
    )
    for seq in (1, 2, 3):
        replayed(store, seq)
    return store


def purge(**changes: object) -> Purge:
    return Purge(**{"wanted": Filter(), "open_before": None} | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        (purge(before=NOW + 2 * DAY), [2, 3, 4, 5]),
        (purge(before=NOW), [0, 1, 2, 3, 4, 5]),
        (purge(keep=2), [4, 5]),
        (purge(keep=0), []),
        (purge(keep=6), [0, 1, 2, 3, 4, 5]),
        (purge(keep=9), [0, 1, 2, 3, 4, 5]),
        (purge(before=NOW + 5 * DAY, keep=3), [3, 4, 5]),
        (purge(before=NOW + 1 * DAY, keep=3), [1, 2, 3, 4, 5]),
        (purge(keep=1, wanted=Filter(reason="refused")), [1, 3, 4, 5]),
        (purge(keep=0, wanted=Filter(labels=(("team", "ops"),), state="replayed")), [3, 4, 5]),
        (purge(keep=0, open_before=NOW), [3, 4, 5]),
        (purge(keep=0, open_before=NOW + 4 * DAY), [4, 5]),
        (purge(before=NOW + 9 * DAY, open_before=NOW + 4 * DAY), [4, 5]),
    ],
)
def test_what_is_left(filled: Store, plan: Purge, left: list[int]) -> None:
    doomed = filled.doomed(plan)
    assert sum(doomed.values()) == 6 - len(left)
    assert filled.count(Filter()) == 6
    assert filled.purge(plan) == 6 - len(left)
    assert [row.letter.id for row in filled.find(Filter(oldest=True))] == [f"n-{n}" for n in left]
    assert sum(filled.counts_by("label.team", Filter()).values()) == len(left)
    assert filled.purge(plan) == 0


def test_what_waits_in_a_replay_stays(filled: Store, archive_url: str) -> None:
    with closing(Replays(archive_url)) as replays:
        replays.begin(ReplayRun(name="r", actor="ann"), Batch(name="r"), (5,))
        assert filled.purge(purge(keep=0)) == 5
        replays.note([ReplayLetter(run="r", number=1, dead_seq=5, result="cancelled")])
    assert filled.purge(purge(keep=0)) == 1


def test_many_go_some_at_a_time(store: Store) -> None:
    store.add([dead(f"n-{n}", dead_at=NOW + n * DAY) for n in range(1700)])
    assert store.purge(purge(keep=100)) == 1600
    assert store.count(Filter()) == 100
    assert store.find(Filter(limit=1))[0].letter.id == "n-1699"


def test_a_number_is_not_used_again(filled: Store) -> None:
    filled.purge(purge(keep=0))
    filled.add([dead("new")])
    assert filled.find(Filter())[0].seq == 7


@on_sqlite
def test_nothing_of_it_is_left_in_the_file(filled: Store, tmp_path: Path) -> None:
    assert filled.purge(purge(keep=0)) == 6
    filled.close()
    assert b"15112345678" not in (tmp_path / "archive.sqlite3").read_bytes()


@on_sqlite
def test_a_backup_is_a_whole_archive_of_its_owner(filled: Store, tmp_path: Path) -> None:
    target = tmp_path / "backup.sqlite3"
    filled.backup(target)
    found = inspect_backup(target)
    assert (found.version, found.letters) == (SCHEMA, 6)
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("*backup*")] == ["backup.sqlite3"]
    with pytest.raises(InvalidInput, match="is there already"):
        filled.backup(target)
    with closing(Store(f"sqlite:///{target}")) as opened:
        opened.create()
        assert opened.find(Filter()) == filled.find(Filter())


@on_sqlite
def test_a_restore_replaces_what_is_there(filled: Store, tmp_path: Path) -> None:
    """Others have the archive open meanwhile."""
    target = tmp_path / "backup.sqlite3"
    filled.backup(target)
    with closing(Store(f"sqlite:///{tmp_path}/archive.sqlite3")) as other:
        other.purge(purge(keep=1))
        other.add([dead("later")])
        filled.restore(target)
        assert len(other.find(Filter())) == 6
        assert other.add([dead("later")]) == 1
        other.check()
    with filled._database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


@on_sqlite
def test_a_backup_of_before_is_migrated(store: Store, tmp_path: Path) -> None:
    from tests.archive.test_migrations import FIRST, prepare

    prepare(tmp_path / "old.sqlite3", FIRST)
    assert inspect_backup(tmp_path / "old.sqlite3").version == 1
    store.restore(tmp_path / "old.sqlite3")
    assert store.version() == SCHEMA
    assert store.count(Filter(batch="file-2f")) == 1


@on_sqlite
def test_a_newer_backup_is_refused(filled: Store, tmp_path: Path) -> None:
    target = tmp_path / "backup.sqlite3"
    filled.backup(target)
    with closing(Store(f"sqlite:///{target}")) as newer, newer._database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '99'")
    with pytest.raises(StoreUnavailable, match="the backup has schema 99"):
        filled.restore(target)
    assert filled.count(Filter()) == 6


@on_sqlite
@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, None])
def test_what_is_no_backup(filled: Store, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "wrong"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"no such file|not a backup|not a whole SQLite file"):
        filled.restore(path)
    assert filled.count(Filter()) == 6


@on_sqlite
def test_a_damaged_backup(filled: Store, tmp_path: Path) -> None:
    target = tmp_path / "backup.sqlite3"
    filled.backup(target)
    content = bytearray(target.read_bytes())
    content[4096 * 2 : 4096 * 20] = b"\xff" * (4096 * 18)
    target.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"damaged|not a whole"):
        filled.restore(target)
    assert filled.count(Filter()) == 6


@on_sqlite
def test_a_backup_while_others_write(filled: Store, tmp_path: Path) -> None:
    with filled._database.writing() as connection:
        connection.exec_driver_sql("UPDATE dead_letters SET count = 2")
        begun = time.monotonic()
        filled.backup(tmp_path / "backup.sqlite3")
        assert time.monotonic() - begun < 5
    assert inspect_backup(tmp_path / "backup.sqlite3").letters == 6
