"""Deleting dead letters for good: by age, by number, by what they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    delete,
    exists,
    func,
    or_,
    select,
    union,
)

from notify.store.engine import Database
from notify.store.filters import Filter, beyond, in_order, matching
from notify.store.narrowing import narrowest
from notify.store.replaytables import REPLAY_LETTERS
from notify.store.rows import OPEN, micros
from notify.store.schema import DEAD_LETTERS, LABELS, REPLAYS

_BATCH: Final = 500
# What keeps a letter: a replay of it that is not over.
_WAITING: Final = REPLAY_LETTERS.c.dead_seq
_WAITS: Final = REPLAY_LETTERS.c.result.is_(None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Purge:
    """Letters that match ``wanted``, died before ``before`` and are not among the latest ``keep``.

    Open ones stay unless they died before ``open_before``: somebody may still want to send them.
    One that is being replayed, or waits for its turn in a replay, stays in any case.
    """

    wanted: Filter
    open_before: datetime | None
    before: datetime | None = None
    keep: int | None = None


def count(connection: Connection, purges: Sequence[Purge]) -> dict[str, int]:
    """What any of them would delete, by reason, the most first."""
    columns = (DEAD_LETTERS.c.seq, DEAD_LETTERS.c.reason)
    found = union(*(_doomed(connection, purge, *columns) for purge in purges)).subquery()
    number = func.count().label("number")
    query = select(found.c.reason, number).group_by(found.c.reason)
    rows = connection.execute(query.order_by(number.desc(), found.c.reason))
    return {row[0]: row[1] for row in rows}


def _delete_some(connection: Connection, query: Select[Any]) -> tuple[int, int]:
    """How many were found, and how many of them deleted.

    Where others may write at once, what they hold is passed over; then nobody can take it.
    """
    locked = query.with_for_update(skip_locked=True, of=DEAD_LETTERS)
    found = list(connection.execute(locked.limit(_BATCH)).scalars())
    holding = select(_WAITING).where(_WAITING.in_(found), _WAITS)
    held = set(connection.execute(holding).scalars())
    seqs = [seq for seq in found if seq not in held]
    for column in (LABELS.c.dead_seq, REPLAYS.c.dead_seq, DEAD_LETTERS.c.seq):
        connection.execute(delete(column.table).where(column.in_(seqs)))
    return len(found), len(seqs)


def go_on() -> bool:
    """Never stops."""
    return False


def delete_all(database: Database, purge: Purge, stop: Callable[[], bool] = go_on) -> int:
    """In transactions so short that the archiver does not notice them; ``stop`` is asked, and
    may wait, between two of them."""
    with database.reading() as connection:
        query = _doomed(connection, purge, DEAD_LETTERS.c.seq)
    total = 0
    while True:
        with database.writing() as connection:
            found, deleted = _delete_some(connection, query)
        total += deleted
        if found < _BATCH or stop():
            return total


def _doomed(connection: Connection, purge: Purge, *columns: Any) -> Select[Any]:
    letters = DEAD_LETTERS.c
    wanted = narrowest(connection, purge.wanted)
    query = matching(wanted, *columns)
    if purge.before is not None:
        query = query.where(letters.dead_at < micros(purge.before))
    if purge.open_before is not None:
        old = letters.dead_at < micros(purge.open_before)
        query = query.where(or_(letters.state != OPEN, old))
    if purge.keep is not None:
        query = query.where(_not_kept(connection, wanted, purge.keep))
    return query.where(~exists().where(letters.seq == _WAITING, _WAITS))


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
