"""Copies of an archive in SQLite, made and put back while it is in use."""

import os
import shlex
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from notify.errors import InvalidInput, StoreUnavailable
from notify.store.engine import Database
from notify.store.failures import translated
from notify.store.schema import VERSION

_DUMP: Final = "pg_dump --format=custom --file={file} --dbname={url}"
_RESTORE: Final = (
    "pg_restore --clean --if-exists --single-transaction --no-owner --dbname={url} {file}"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """What is in the file of a backup."""

    version: int
    letters: int
    latest: int | None


def backup(database: Database, target: Path) -> None:
    """The file is complete and on the disk, or it is not there. Only its owner may read it."""
    _check_sqlite(database, _DUMP, target)
    if target.exists():
        raise InvalidInput(f"{target}: is there already")
    with database.raw() as source, _prepared(target) as path:
        with closing(sqlite3.connect(path)) as copy:
            source.backup(copy)
            # One file is all that there is to a backup.
            copy.execute("PRAGMA journal_mode=DELETE")
        _check(path)


def restore(database: Database, source: Path) -> None:
    """One transaction: whoever reads meanwhile sees what was there, or what is there now."""
    inspect(database, source)
    with database.raw() as target, translated(), _opened(source) as copy:
        copy.backup(target)


def inspect(database: Database, source: Path) -> Backup:
    """What would be restored. Raises ``InvalidInput`` for what cannot be."""
    _check_sqlite(database, _RESTORE, source)
    return inspect_backup(source)


def _check_sqlite(database: Database, command: str, file: Path) -> None:
    """PostgreSQL's own programs do this better; its URL is without the password."""
    if database.dialect != "sqlite":
        quoted = command.format(url=shlex.quote(database.address), file=shlex.quote(str(file)))
        raise InvalidInput(f"the archive is in PostgreSQL, so use: {quoted}")


def inspect_backup(source: Path) -> Backup:
    """Raises ``InvalidInput`` for a file that is no whole backup of a known schema."""
    if not source.is_file():
        raise InvalidInput(f"{source}: there is no such file")
    _check(source)
    try:
        with _opened(source) as copy:
            found = _read(copy)
    except sqlite3.Error as error:
        raise InvalidInput(f"{source}: is not a backup of an archive: {error}") from error
    if found.version > VERSION:
        raise StoreUnavailable(
            f"the backup has schema {found.version}, and this program knows only {VERSION}"
        )
    return found


def _read(copy: sqlite3.Connection) -> Backup:
    tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_schema")}
    migrated = "alembic_version" in tables
    numbers = "SELECT version_num FROM alembic_version" if migrated else "SELECT value FROM meta"
    version = copy.execute(numbers).fetchone()
    letters, latest = copy.execute("SELECT count(*), max(dead_at) FROM dead_letters").fetchone()
    return Backup(version=int(version[0]), letters=letters, latest=latest)


def _check(path: Path) -> None:
    try:
        with _opened(path) as copy:
            (answer,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise InvalidInput(f"{path}: is not a whole SQLite file: {error}") from error
    if answer != "ok":
        raise InvalidInput(f"{path}: is damaged")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
        yield opened


@contextmanager
def _prepared(target: Path) -> Iterator[Path]:
    """A file beside ``target`` that takes its name in the end."""
    with translated():
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.absolute().parent)
        os.close(handle)
        path = Path(name)
        try:
            yield path
            with path.open("rb") as written:
                os.fsync(written.fileno())
            path.replace(target)
        finally:
            path.unlink(missing_ok=True)
