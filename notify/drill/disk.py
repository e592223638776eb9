"""A full disk for the archive that needs no privileges.

The archiver runs with a limit on the size of its SQLite database (``PRAGMA max_page_count``,
set by ``notify.drill.cramped``): growing beyond it fails with SQLITE_FULL, as on a full disk.
A table in the same database takes up all the room below the limit, or gives it back.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

# Generous: a dead letter with its attempts and its entries in the indexes.
_PAGES_PER_LETTER: Final = 4
_LEAST_PAGES: Final = 64
# A row of so many bytes has a page of its own.
_ROW: Final = 3900
_BUSY: Final = 10.0


class SmallDisk:
    """The room for the archive at ``path``, which exists already."""

    def __init__(self, path: Path, letters: int) -> None:
        self._path = path
        with closing(self._connect()) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS ballast (filler BLOB)")
            rows = _LEAST_PAGES + letters * _PAGES_PER_LETTER
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO ballast VALUES (zeroblob(?))", ((_ROW,) for _ in range(rows))
            )
            connection.execute("COMMIT")
            self.pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
        self.clear()

    def fill(self) -> None:
        """No page is left."""
        with closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            while connection.execute("PRAGMA freelist_count").fetchone()[0]:
                connection.execute("INSERT INTO ballast VALUES (zeroblob(?))", (_ROW,))
            connection.execute("COMMIT")

    def clear(self) -> None:
        """All pages that the archive does not use are free."""
        with closing(self._connect()) as connection:
            connection.execute("DELETE FROM ballast")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_BUSY, isolation_level=None)
