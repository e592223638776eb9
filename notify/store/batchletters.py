"""The dead letters of a batch."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import select

from notify.store.engine import Database
from notify.store.rows import OPEN, ArchivedLetter, from_row
from notify.store.schema import DEAD_LETTERS

_PAGE: Final = 500


def batch_letters(url: str, name: str) -> Iterator[ArchivedLetter]:
    """Those that were not replayed yet, the earliest first, a page at a time.

    Raises ``StoreUnavailable``.
    """
    database = Database(url)
    after = 0
    columns = DEAD_LETTERS.c
    query = select(DEAD_LETTERS).where(columns.state == OPEN, columns.batch == name)
    query = query.order_by(columns.seq).limit(_PAGE)
    try:
        while True:
            with database.reading() as connection:
                rows = connection.execute(query.where(columns.seq > after)).all()
            yield from (from_row(row._asdict()) for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1].seq
    finally:
        database.close()
