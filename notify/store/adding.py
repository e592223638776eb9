"""Taking dead letters in.

SQLite, which has one writer, is asked what it has, and gets the others. PostgreSQL decides about
each letter itself, since another archiver may add it at the same moment.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select, update

from notify.store import rows
from notify.store.bulk import Row, insert_rows, insertions
from notify.store.schema import DEAD_LETTERS, LABELS

_LAST: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'dead_letters'"
_NUMBERS: Final = """
SELECT nextval(pg_get_serial_sequence('dead_letters', 'seq')) FROM generate_series(1, %(many)s)
"""


def add(connection: Connection, letters: Sequence[Row]) -> int:
    """Adds rows, no two of one identity; returns how many were not there before.

    A letter that is there stays as it is; only what has no id is counted.
    """
    if connection.dialect.name == "sqlite":
        return _add_to_sqlite(connection, letters)
    return _add_to_postgresql(connection, letters)


def _add_to_sqlite(connection: Connection, letters: Sequence[Row]) -> int:
    columns = DEAD_LETTERS.c
    given = [row["identity"] for row in letters]
    query = select(columns.identity).where(columns.identity.in_(given))
    known = set(connection.execute(query).scalars())
    first = 1 + (connection.exec_driver_sql(_LAST).scalar() or 0)
    others = [row for row in letters if row["identity"] not in known]
    new = [{**row, "seq": seq} for seq, row in enumerate(others, first)]
    insert_rows(connection, DEAD_LETTERS, new)
    insert_rows(connection, LABELS, _labels(new))
    for row in letters:
        if row["identity"] in known and row["id"] is None:
            again = update(DEAD_LETTERS).where(columns.identity == row["identity"])
            connection.execute(again.values(count=columns.count + row["count"]))
    return len(new)


def _add_to_postgresql(connection: Connection, letters: Sequence[Row]) -> int:
    numbers = connection.exec_driver_sql(_NUMBERS, {"many": len(letters)}).scalars()
    numbered = [{**row, "seq": seq} for row, seq in zip(letters, numbers, strict=True)]
    # In one order for all who add, so that no two wait for each other.
    numbered.sort(key=lambda row: str(row["identity"]))
    columns = DEAD_LETTERS.c
    seqs: dict[str, int] = {}
    for statement in insertions(DEAD_LETTERS, numbered):
        returning = _counting(statement).returning(columns.identity, columns.seq)
        seqs |= dict(connection.execute(returning).all())
    # What was there and has no id comes back too, with the number that it had.
    new = [row for row in numbered if seqs.get(row["identity"]) == row["seq"]]
    insert_rows(connection, LABELS, _labels(new))
    return len(new)


def _counting(statement: Any) -> Any:
    """Of a message that never had an id; one that was erased has lost it."""
    columns = DEAD_LETTERS.c
    return statement.on_conflict_do_update(
        index_elements=[columns.identity],
        set_={"count": columns.count + statement.excluded.count},
        where=columns.id.is_(None) & statement.excluded.id.is_(None),
    )


def _labels(new: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        label for row in new if row["labels"] != "{}" for label in rows.label_rows(row, row["seq"])
    ]
