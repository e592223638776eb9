"""Connections to the database, and its transactions."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite

from notify.errors import StoreUnavailable
from notify.store.failures import translated

# Inserts that can say what becomes of a row that is there already.
INSERTS: Final[Mapping[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
_BUSY_SECONDS: Final = 10.0
_WRITES: Final = "notify_writes"
_DRIVER: Final = "postgresql+psycopg"
# A server that is gone without a word is noticed within a minute, not after hours.
_LIVELY: Final = {
    "application_name": "notify",
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "50000",
}
# Each for one transaction. Compiling a query that takes milliseconds takes a hundred of them.
_QUICKLY: Final = "SET LOCAL jit = off"
# A lock is waited for as long as one of SQLite.
_SAFELY: Final = f"""
SELECT set_config('lock_timeout', '{_BUSY_SECONDS:.0f}s', true),
       CASE current_setting('synchronous_commit')
           WHEN 'off' THEN set_config('synchronous_commit', 'local', true) END
"""
_PATIENTLY: Final = """
SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true)
"""


class Database:
    """An engine whose transactions either read or write."""

    def __init__(self, url: str) -> None:
        with translated():
            parsed = self._url = make_url(url)
            self.dialect = parsed.get_backend_name()
            if self.dialect == "postgresql":
                self._engine = _on_postgresql(parsed)
            else:
                self._engine = _on_sqlite(parsed)
            self._writer = self._engine.execution_options(**{_WRITES: True})

    @property
    def address(self) -> str:
        """The URL as PostgreSQL's own programs take it, without the password."""
        plain = self._url._replace(drivername=self.dialect, password=None)
        return plain.render_as_string(hide_password=False)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Reads what is there now, however long that takes and whatever others write."""
        options = {} if self.dialect == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with translated(), self._engine.execution_options(**options).connect() as connection:
            be_patient(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Commits at the end, durably, or leaves everything as it was."""
        with translated(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """A connection outside of transactions, for what SQLite alone can do."""
        assert self.dialect == "sqlite"
        with translated(), self._engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            yield driver

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Each statement is a transaction of its own, as VACUUM wants it."""
        apart = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        with translated(), apart.connect() as connection:
            yield connection

    def close(self) -> None:
        with translated():
            self._engine.dispose()


def be_patient(connection: Connection) -> None:
    """For this transaction, which is long: whatever PostgreSQL allows others."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_PATIENTLY)


def _on_postgresql(url: URL) -> Engine:
    """What the URL says of the connection, TLS for example, has precedence."""
    if "+" not in url.drivername:
        url = url.set(drivername=_DRIVER)
    engine = create_engine(
        url.update_query_dict({**_LIVELY, **url.query}),
        hide_parameters=True,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
    )
    event.listen(engine, "begin", _begin_on_postgresql)
    return engine


def _begin_on_postgresql(connection: Connection) -> None:
    """Whatever the server's settings are, a commit of ours survives a power cut."""
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql(_SAFELY if writes else _QUICKLY)


def _on_sqlite(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        raise StoreUnavailable("the archive must be SQLite or PostgreSQL")
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, hide_parameters=True, pool_pre_ping=True)
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: sqlite3.Connection, _: Any) -> None:
    """WAL lets readers and a writer work at once; FULL makes a commit survive a power cut."""
    connection.isolation_level = None
    for pragma in (f"busy_timeout={_BUSY_SECONDS * 1000:.0f}", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA foreign_keys=ON")
    # A batch of letters touches thousands of pages, which are written once if all fit, and go from
    # the log into the file less often the longer the log may be (32 MB).
    connection.execute("PRAGMA cache_size=-65536")
    connection.execute("PRAGMA wal_autocheckpoint=8000")
    # What is deleted is overwritten: it is personal data.
    connection.execute("PRAGMA secure_delete=ON")
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        connection.execute("PRAGMA journal_mode=WAL")


def _begin(connection: Connection) -> None:
    """A transaction that will write says so at once: one that reads first and then writes
    fails without waiting when another one wrote in between."""
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
