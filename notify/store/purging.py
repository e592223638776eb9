"""Deleting dead letters for good: by age, by number, by what they are."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, or_

from notify.store.engine import Database
from notify.store.filters import Filter, beyond, in_order, matching
from notify.store.rows import OPEN, PUBLISHING, micros
from notify.store.schema import DEAD_LETTERS, LABELS, REPLAYS

_BATCH: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Purge:
    """Letters that match ``wanted``, died before ``before`` and are not among the latest ``keep``.

    Open ones stay unless they died before ``open_before``: somebody may still want to send them.
    One whose replay is being published stays in any case.
    """

    wanted: Filter
    open_before: datetime | None
    before: datetime | None = None
    keep: int | None = None


def count(connection: Connection, purge: Purge) -> dict[str, int]:
    """By reason, the most first."""
    columns = (DEAD_LETTERS.c.reason, func.count())
    query = _doomed(connection, purge, *columns).group_by(DEAD_LETTERS.c.reason)
    query = query.order_by(func.count().desc(), DEAD_LETTERS.c.reason)
    return dict(connection.execute(query).all())


def _delete_some(connection: Connection, query: Select[Any]) -> int:
    seqs = list(connection.execute(query.limit(_BATCH)).scalars())
    for column in (LABELS.c.dead_seq, REPLAYS.c.dead_seq, DEAD_LETTERS.c.seq):
        connection.execute(delete(column.table).where(column.in_(seqs)))
    return len(seqs)


def delete_all(database: Database, purge: Purge) -> int:
    """In transactions so short that the archiver does not notice them."""
    with database.reading() as connection:
        query = _doomed(connection, purge, DEAD_LETTERS.c.seq)
    total = 0
    while True:
        with database.writing() as connection:
            deleted = _delete_some(connection, query)
        total += deleted
        if deleted < _BATCH:
            return total


def _doomed(connection: Connection, purge: Purge, *columns: Any) -> Select[Any]:
    letters = DEAD_LETTERS.c
    query = matching(purge.wanted, *columns)
    if purge.before is not None:
        query = query.where(letters.dead_at < micros(purge.before))
    if purge.open_before is not None:
        old = letters.dead_at < micros(purge.open_before)
        query = query.where(or_(letters.state != OPEN, old))
    if purge.keep is not None:
        query = query.where(_not_kept(connection, purge.wanted, purge.keep))
    running = exists().where(REPLAYS.c.dead_seq == letters.seq, REPLAYS.c.state == PUBLISHING)
    return query.where(~running)


def _not_kept(connection: Connection, wanted: Filter, keep: int) -> ColumnElement[bool]:
    """What is beyond the latest ``keep``; found once, so that new letters doom no others."""
    latest = replace(wanted, oldest=False)
    if keep == 0:
        return DEAD_LETTERS.c.seq > 0
    query = in_order(matching(latest, DEAD_LETTERS.c.dead_at, DEAD_LETTERS.c.seq), latest)
    last = connection.execute(query.offset(keep - 1).limit(1)).first()
    if last is None:
        return DEAD_LETTERS.c.seq < 0
    return beyond(latest, last.dead_at, last.seq)
