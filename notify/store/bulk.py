"""Many rows at once, at little cost to who inserts them.

SQLite gets them as they are. PostgreSQL gets all as one value, JSON: five hundred rows of
parameters would cost the client more than everything else does.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import JSON, Connection, Table, Text, cast, column, func, literal, select
from sqlalchemy.dialects import postgresql

Row: TypeAlias = Mapping[str, Any]

# A value of PostgreSQL is at most 1 GB; the largest message that RabbitMQ takes is an eighth.
_AT_ONCE: Final = 64_000_000


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """All of them with the same names, in the same order."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        names = list(rows[0])
        marks = ", ".join("?" * len(names))
        statement = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})"
        connection.exec_driver_sql(statement, [tuple(row.values()) for row in rows])
    else:
        for statement in insertions(table, rows):
            connection.execute(statement)


def insertions(table: Table, rows: Sequence[Row]) -> Iterator[Any]:
    """For PostgreSQL: statements that insert them, each of which can be added to."""
    names = list(rows[0])
    fields = [column(name, table.c[name].type) for name in names]
    for content in _portions(rows):
        given = func.json_to_recordset(cast(literal(content, Text), JSON))
        source = given.table_valued(*fields).render_derived(with_types=True)
        yield postgresql.insert(table).from_select(names, select(*source.c))


def _portions(rows: Sequence[Row]) -> Iterator[str]:
    """As arrays that are not too long."""
    some: list[str] = []
    size = 0
    for row in rows:
        some.append(json.dumps(row, default=_plain))
        size += len(some[-1])
        if size > _AT_ONCE:
            yield f"[{','.join(some)}]"
            some, size = [], 0
    if some:
        yield f"[{','.join(some)}]"


def _plain(value: Any) -> str:
    """The form that a column of bytes is read from."""
    assert isinstance(value, bytes | memoryview)
    return f"\\x{bytes(value).hex()}"
