"""Connections to the database, and its failures in our words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from notify.errors import StoreUnavailable

_BUSY_SECONDS: Final = 10.0
_WRITES: Final = "notify_writes"


class Database:
    """An engine whose transactions either read or write."""

    def __init__(self, url: str) -> None:
        with translated():
            parsed = make_url(url)
            self.dialect = parsed.get_backend_name()
            _make_directory(self.dialect, parsed.database)
            self._engine = create_engine(parsed, hide_parameters=True, pool_pre_ping=True)
            if self.dialect == "sqlite":
                _set_up_sqlite(self._engine)
            self._writer = self._engine.execution_options(**{_WRITES: True})

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Commits at the end, durably, or leaves everything as it was."""
        with translated(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """A connection outside of transactions, for what SQLite alone can do."""
        if self.dialect != "sqlite":
            raise StoreUnavailable("only an archive in SQLite can do this; use pg_dump")
        with translated(), self._engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            yield driver

    def close(self) -> None:
        with translated():
            self._engine.dispose()


def _make_directory(dialect: str, database: str | None) -> None:
    if dialect == "sqlite" and database and database != ":memory:":
        Path(database).parent.mkdir(parents=True, exist_ok=True)


def _set_up_sqlite(engine: Engine) -> None:
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)


def _configure(connection: sqlite3.Connection, _: Any) -> None:
    """WAL lets readers and a writer work at once; FULL makes a commit survive a power cut."""
    connection.isolation_level = None
    for pragma in (f"busy_timeout={_BUSY_SECONDS * 1000:.0f}", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA foreign_keys=ON")
    # What is deleted is overwritten: it is personal data.
    connection.execute("PRAGMA secure_delete=ON")
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        connection.execute("PRAGMA journal_mode=WAL")


def _begin(connection: Connection) -> None:
    """A transaction that will write says so at once: one that reads first and then writes
    fails without waiting when another one wrote in between."""
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def translated() -> Iterator[None]:
    """Every failure of the database as ``StoreUnavailable``, without values from its rows."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"the archive cannot be used: {_explain(error)}") from error
    except sqlite3.Error as error:  # while a connection is set up
        raise StoreUnavailable(f"the archive cannot be used: {error}") from error
    except ImportError as error:
        raise StoreUnavailable(f"the archive needs a Python package: {error.name}") from error
    except OSError as error:
        raise StoreUnavailable(f"the archive cannot be used: {error.strerror}") from error


def _explain(error: SQLAlchemyError) -> str:
    """SQLite never quotes values, and neither does any database that cannot be reached."""
    if isinstance(error, DBAPIError) and isinstance(error.orig, Exception):
        if isinstance(error, OperationalError) or isinstance(error.orig, sqlite3.Error):
            return str(error.orig).partition("\n")[0]
        return type(error.orig).__name__
    return type(error).__name__
