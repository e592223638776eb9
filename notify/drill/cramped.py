"""Runs a ``notify`` command whose SQLite databases cannot grow beyond so many pages.

python -m notify.drill.cramped PAGES COMMAND …
"""

import runpy
import sqlite3.dbapi2
import sys
from typing import Any


def cramp(pages: int) -> None:
    """For every connection that this process makes from now on."""
    connect = sqlite3.dbapi2.connect

    def cramped(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    setattr(sqlite3.dbapi2, "connect", cramped)  # noqa: B010 - its type is an overload


if __name__ == "__main__":
    cramp(int(sys.argv.pop(1)))
    runpy.run_module("notify", run_name="__main__", alter_sys=True)
