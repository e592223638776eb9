"""Texts beside the letters themselves that name a person: notes, edits, sources, filters.

Every text of every table is looked at, whatever tables there are; what names the person is
written again without the name.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, and_, select, update
from sqlalchemy.types import String

from notify.store.engine import Database
from notify.store.erasing import Names, plain
from notify.store.facets import clean
from notify.store.tables import METADATA

# Letters have a way of their own, labels go with them, and digests have names of the
# configuration only.
_APART: Final = ("dead_letters", "dead_labels", "meta", "erasures", "care_digests")
# A person in one of these is somebody's intention, to be changed by a command.
SCHEDULES: Final = "schedules"
_BATCH: Final = 100


def named_in(database: Database, names: Names) -> dict[str, list[tuple[Any, ...]]]:
    """Keys of the rows that name the person, by table."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table in METADATA.sorted_tables:
        if table.name not in _APART:
            keys = [key for key, _ in _named(database, table, names)]
            found |= {table.name: keys} if keys else {}
    return found


def scrub(database: Database, names: Names, without: Callable[[str], str]) -> dict[str, int]:
    """Takes the name out of what names it; how many rows of which table. A name that is part of
    a key stays, and schedules are left as they are."""
    changed: dict[str, int] = {}
    for table in METADATA.sorted_tables:
        if table.name in (*_APART, SCHEDULES):
            continue
        rows = [(key, values) for key, values in _named(database, table, names) if values]
        for start in range(0, len(rows), _BATCH):
            with database.writing() as connection:
                for key, values in rows[start : start + _BATCH]:
                    new = {name: rewritten(text, without) for name, text in values.items()}
                    connection.execute(update(table).where(_at(table, key)).values(new))
        changed |= {table.name: len(rows)} if rows else {}
    return changed


def _named(
    database: Database, table: Table, names: Names
) -> Iterator[tuple[tuple[Any, ...], dict[str, str]]]:
    """Key of each row that names the person, and the texts that do and are no part of it."""
    keys = list(table.primary_key.columns)
    texts = [each for each in table.columns if isinstance(each.type, String)]
    with database.reading() as connection:
        if not texts or not connection.dialect.has_table(connection, table.name):
            return
        rows = connection.execution_options(yield_per=_BATCH).execute(select(*keys, *texts))
        for row in rows:
            key, values = tuple(row[: len(keys)]), row[len(keys) :]
            found = [
                (column, text)
                for column, text in zip(texts, values, strict=True)
                if text and names(plain(text))
            ]
            if found:
                yield key, {c.name: text for c, text in found if not c.primary_key}


def rewritten(text: str, without: Callable[[str], str]) -> str:
    """The text without the name; JSON stays JSON, in ASCII."""
    try:
        value = json.loads(text)
    except ValueError:
        return clean(without(text))
    return json.dumps(_changed(value, without), separators=(",", ":"))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, int | float):
        # A number can be a telephone's.
        text = str(value)
        return value if (changed := change(text)) == text else changed
    if isinstance(value, dict):
        return {change(name): _changed(item, change) for name, item in value.items()}
    return [_changed(item, change) for item in value] if isinstance(value, list) else value


def _at(table: Table, key: tuple[Any, ...]) -> ColumnElement[bool]:
    columns = table.primary_key.columns
    return and_(*(column == value for column, value in zip(columns, key, strict=True)))
