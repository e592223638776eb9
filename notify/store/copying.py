"""Moving an archive to another database: all that is in it, or nothing.

What is copied is the archive as it was at one instant, in one transaction of the target: a copy
that is interrupted has left nothing, and is begun again. Numbers stay, and those of rows that
were deleted are not given again: people have noted them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Table, delete, func, select, text

from notify.errors import InvalidInput, StoreUnavailable
from notify.store.bulk import Row, insert_rows
from notify.store.engine import Database, be_patient
from notify.store.facets import clean
from notify.store.failures import translated
from notify.store.migrating import check_version, make_newest, version
from notify.store.schema import META
from notify.store.tables import METADATA

Told: TypeAlias = Callable[[str, int], None]
"""Is told how many more rows of a table were copied."""

_PAGE: Final = 500


def content(database: Database) -> dict[str, int]:
    """How many rows each table has, in an order in which they can be inserted."""
    with database.snapshot() as connection:
        check_version(version(connection))
        return _content(connection)


def check_target(database: Database) -> None:
    """Raises ``InvalidInput`` for what is not an archive without letters, or nothing at all."""
    try:
        with database.snapshot() as connection:
            found = version(connection)
            if found is not None:
                check_version(found)
                _check_empty(connection)
    except StoreUnavailable as error:
        raise StoreUnavailable(f"the target: {error}") from error


def copy_all(source: Database, target: Database, told: Told) -> dict[str, int]:
    """Returns how many rows of each table were copied, and counted afterwards."""
    check_target(target)
    make_newest(target)
    with source.snapshot() as reading, target.writing() as writing:
        be_patient(writing)
        check_version(version(reading))
        _check_empty(writing)
        writing.execute(delete(META))
        copied = {
            table.name: _copy_table(reading, writing, table, told)
            for table in METADATA.sorted_tables
        }
        _go_on_numbering(reading, writing)
        _compare(copied, _content(writing))
    return copied


def _content(connection: Connection) -> dict[str, int]:
    return {
        table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in METADATA.sorted_tables
    }


def _check_empty(connection: Connection) -> None:
    """But for the table that describes the archive."""
    found = _content(connection)
    full = [f"{rows} in {name}" for name, rows in found.items() if rows and name != META.name]
    if full:
        raise InvalidInput(f"the target is not empty, and was not changed: {', '.join(full)}")


def _copy_table(reading: Connection, writing: Connection, table: Table, told: Told) -> int:
    copied = 0
    query = select(table).order_by(*table.primary_key.columns)
    with reading.execute(query, execution_options={"yield_per": _PAGE}) as found:
        for page in found.mappings().partitions():
            rows = [{name: _fit(value) for name, value in row.items()} for row in page]
            _insert(writing, table, rows, copied)
            copied += len(rows)
            told(table.name, len(rows))
    return copied


def _insert(writing: Connection, table: Table, rows: Sequence[Row], before: int) -> None:
    try:
        with translated():
            insert_rows(writing, table, rows)
    except StoreUnavailable as error:
        place = f"{table.name}, rows {before + 1} to {before + len(rows)}"
        raise StoreUnavailable(f"{place}: {error}; nothing was copied") from error


def _fit(value: Any) -> Any:
    """SQLite has taken texts that no other database takes."""
    return clean(value) if isinstance(value, str) else value


def _compare(copied: Mapping[str, int], counted: Mapping[str, int]) -> None:
    wrong = [name for name, number in copied.items() if counted[name] != number]
    if wrong:
        raise StoreUnavailable(f"not all of {', '.join(wrong)} arrived; nothing was changed")


def _go_on_numbering(reading: Connection, writing: Connection) -> None:
    for table in METADATA.sorted_tables:
        column = table.autoincrement_column
        if column is not None and table.dialect_options["sqlite"]["autoincrement"]:
            last = _last_number(reading, table.name, column.name)
            if last:
                _number_from(writing, table.name, column.name, last)


def _last_number(connection: Connection, table: str, column: str) -> int:
    if connection.dialect.name == "sqlite":
        query = text("SELECT seq FROM sqlite_sequence WHERE name = :table")
        return int(connection.execute(query, {"table": table}).scalar() or 0)
    query = text("SELECT pg_sequence_last_value(pg_get_serial_sequence(:table, :column))")
    return int(connection.execute(query, {"table": table, "column": column}).scalar() or 0)


def _number_from(connection: Connection, table: str, column: str, last: int) -> None:
    values = {"table": table, "column": column, "last": last}
    if connection.dialect.name == "sqlite":
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), values)
        change = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)")
    else:
        change = text("SELECT setval(pg_get_serial_sequence(:table, :column), :last)")
    connection.execute(change, values)
