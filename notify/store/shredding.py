"""After letters were erased: what the database keeps of them besides, as far as it lets go."""

import sqlite3

from sqlalchemy import text

from notify.store.engine import Database
from notify.store.tables import METADATA


def shred(database: Database) -> bool:
    """Whether nothing of it is left in the files that are the database's own.

    SQLite overwrites what is deleted (``secure_delete``) but leaves copies of rows that it moved
    from page to page, so that the file is written anew, and its log is emptied. False while
    somebody else writes, or reads from that log, or where there is no room for it. PostgreSQL
    gives the space of old rows back for new ones, which is all that it does: False, because old
    bytes may stay in files and in the WAL.
    """
    if database.dialect == "sqlite":
        with database.raw() as connection:
            return _written_anew(connection)
    with database.alone() as server:
        for table in METADATA.sorted_tables:
            server.execute(text(f"VACUUM {table.name}"))
    return False


def _written_anew(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("VACUUM")
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
