"""What rules decided about dead letters and what came of it: each step one transaction.

A letter has at most one case. Every change of a case says which state it leaves, so that two
processes never act on the same one. Times are the database's own where processes compare them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    bindparam,
    delete,
    exists,
    func,
    select,
    update,
)

from notify.store.carenotes import LEADER, Notes, Pause, now
from notify.store.caretables import CASES, STATE
from notify.store.engine import INSERTS
from notify.store.rows import OPEN, ArchivedLetter, clean, from_row, instant, micros
from notify.store.schema import DEAD_LETTERS

__all__ = ["CareBook", "Case", "Held", "Pause"]

WAITING: Final = "waiting"
REPLAYING: Final = "replaying"
REPLAYED: Final = "replayed"
HELD: Final = "held"
REFUSED: Final = "refused"
GIVEN_UP: Final = "given up"
OVERTAKEN: Final = "overtaken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A letter that a rule decided about."""

    dead_seq: int
    rule: str
    state: str
    due_at: datetime
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """What came of a letter that was taken; ``again_at`` is when it is due once more."""

    dead_seq: int
    state: str
    note: str = ""
    again_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Letters that wait for a person."""

    rule: str
    channel: str
    reason: str
    letters: int
    oldest: datetime


class CareBook(Notes):
    """Of the archive at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def unseen(
        self, after: int, since: datetime, settled: float, limit: int
    ) -> tuple[list[ArchivedLetter], int]:
        """Open letters without a case, numbered beyond ``after``, which died after ``since``;
        and up to which number there are no others.

        Those of the last ``settled`` seconds are left for the next time where several programs
        may write at once: a lower number can become visible after a higher one.
        """
        columns = DEAD_LETTERS.c
        # Without an index: what is wanted is a range of numbers.
        query = select(DEAD_LETTERS).where(columns.seq > after)
        query = query.where(func.coalesce(columns.state, "") == OPEN)
        query = query.where(func.coalesce(columns.dead_at, 0) >= micros(since))
        query = query.where(~exists().where(CASES.c.dead_seq == columns.seq))
        with self._database.reading() as connection:
            last = self._last(connection, after, settled)
            query = query.where(columns.seq <= last).order_by(columns.seq).limit(limit)
            found = connection.execute(query).all()
        reached = found[-1].seq if len(found) == limit else last
        return [from_row(row._asdict()) for row in found], reached

    def _last(self, connection: Connection, after: int, settled: float) -> int:
        columns = DEAD_LETTERS.c
        last = select(func.coalesce(func.max(columns.seq), after)).where(columns.seq > after)
        if self._database.dialect != "sqlite":
            late = columns.archived_at > now(connection) - int(settled * 1e6)
            first = select(func.min(columns.seq)).where(columns.seq > after, late)
            barrier = connection.execute(first).scalar()
            if barrier is not None:
                return int(barrier) - 1
        return int(connection.execute(last).scalar_one())

    def open(self, cases: Sequence[Case]) -> int:
        """Notes decisions; a letter that has a case keeps it, and one that is gone has none."""
        if not cases:
            return 0
        with self._database.writing() as connection:
            there = select(DEAD_LETTERS.c.seq).where(
                DEAD_LETTERS.c.seq.in_([case.dead_seq for case in cases])
            )
            letters = set(connection.execute(there).scalars())
            rows = [
                {
                    "dead_seq": case.dead_seq,
                    "rule": case.rule,
                    "state": case.state,
                    "due_at": micros(case.due_at),
                    "changed_at": now(connection),
                    "note": clean(case.note),
                }
                for case in cases
                if case.dead_seq in letters
            ]
            if rows:
                new = INSERTS[self._database.dialect](CASES).on_conflict_do_nothing()
                connection.execute(new, rows)
            return len(rows)

    def case(self, seq: int) -> Case | None:
        """What a rule decided about a letter."""
        query = select(CASES).where(CASES.c.dead_seq == seq)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        return Case(
            dead_seq=row.dead_seq,
            rule=row.rule,
            state=row.state,
            due_at=instant(row.due_at),
            note=row.note,
        )

    def places(self, rule: str) -> dict[tuple[str | None, str | None], int]:
        """Channels and providers with letters of a rule whose time has come, and how many."""
        letters, count = DEAD_LETTERS.c, func.count().label("count")
        query = select(letters.channel, letters.provider, count).join(
            CASES, CASES.c.dead_seq == letters.seq
        )
        query = query.where(CASES.c.rule == rule).group_by(letters.channel, letters.provider)
        with self._database.reading() as connection:
            query = query.where(_due(connection)).order_by(count.desc())
            return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    def due(
        self, rule: str, place: tuple[str | None, str | None], limit: int
    ) -> list[ArchivedLetter]:
        """Letters of a rule, a channel and a provider whose time has come, the longest due
        first, and before them those that were taken and never finished."""
        letters = DEAD_LETTERS.c
        query = select(DEAD_LETTERS).join(CASES, CASES.c.dead_seq == letters.seq)
        query = query.where(CASES.c.rule == rule)
        query = query.where(_is(letters.channel, place[0]), _is(letters.provider, place[1]))
        query = query.order_by(CASES.c.state, CASES.c.due_at, CASES.c.dead_seq).limit(limit)
        with self._database.reading() as connection:
            found = connection.execute(query.where(_due(connection))).all()
        return [from_row(row._asdict()) for row in found]

    def take(self, seqs: Sequence[int], owner: str) -> set[int]:
        """Those that ``owner``, who still leads, is to send again."""
        leads = exists().where(STATE.c.name == LEADER, STATE.c.value == owner)
        mine = CASES.c.dead_seq.in_(list(seqs)) & CASES.c.state.in_((WAITING, REPLAYING))
        with self._database.writing() as connection:
            change = update(CASES).where(mine, leads)
            values = {"state": REPLAYING, "changed_at": now(connection)}
            change = change.values(values).returning(CASES.c.dead_seq)
            return set(connection.execute(change).scalars())

    def finish(self, endings: Iterable[Ending]) -> None:
        """What came of letters that were taken; of others nothing is changed."""
        columns = CASES.c
        rows = [
            {
                "seq": each.dead_seq,
                "after": each.state,
                "why": clean(each.note),
                "again": None if each.again_at is None else micros(each.again_at),
            }
            for each in endings
        ]
        if not rows:
            return
        change = update(CASES).where(
            columns.dead_seq == bindparam("seq"), columns.state == REPLAYING
        )
        again = func.coalesce(bindparam("again", type_=BigInteger), columns.due_at)
        with self._database.writing() as connection:
            values = {"state": bindparam("after"), "note": bindparam("why"), "due_at": again}
            connection.execute(change.values(values | {"changed_at": now(connection)}), rows)

    def give_up(self, rule: str, before: datetime, note: str) -> int:
        """Closes the cases of a rule whose letters died before then; how many."""
        old = exists().where(
            DEAD_LETTERS.c.seq == CASES.c.dead_seq, DEAD_LETTERS.c.dead_at < micros(before)
        )
        mine = (CASES.c.rule == rule) & (CASES.c.state == WAITING)
        return self._close(GIVEN_UP, note, mine, old)

    def overtake(self) -> int:
        """Closes the cases of letters that somebody else took care of; how many."""
        is_open = DEAD_LETTERS.c.state == OPEN
        gone = ~exists().where(DEAD_LETTERS.c.seq == CASES.c.dead_seq, is_open)
        return self._close(OVERTAKEN, "", CASES.c.state.in_((WAITING, HELD)), gone)

    def _close(self, state: str, note: str, *conditions: ColumnElement[bool]) -> int:
        """Asks first: mostly there are none, and whoever writes keeps others from it."""
        with self._database.reading() as connection:
            some = select(CASES.c.dead_seq).where(*conditions).limit(1)
            if connection.execute(some).scalar() is None:
                return 0
        with self._database.writing() as connection:
            values = {"state": state, "note": note, "changed_at": now(connection)}
            return connection.execute(update(CASES).where(*conditions).values(values)).rowcount

    def forget(self, kept: Iterable[str], since: datetime) -> int:
        """Cases that wait by a rule that is no more, or of letters that are looked at anew,
        which are those that died after ``since``; how many."""
        waits = CASES.c.state.in_((WAITING, HELD))
        young = exists().where(
            DEAD_LETTERS.c.seq == CASES.c.dead_seq, DEAD_LETTERS.c.dead_at >= micros(since)
        )
        with self._database.writing() as connection:
            gone = delete(CASES).where(waits, CASES.c.rule.not_in(list(kept)) | young)
            return connection.execute(gone).rowcount

    def sent_again(self, seconds: float) -> dict[str, int]:
        """How many letters each rule has sent again within so many seconds."""
        with self._database.reading() as connection:
            since = now(connection) - int(seconds * 1e6)
            query = select(CASES.c.rule, func.count()).where(
                CASES.c.state.in_((REPLAYING, REPLAYED)), CASES.c.changed_at >= since
            )
            return {row[0]: row[1] for row in connection.execute(query.group_by(CASES.c.rule))}

    def waiting(self) -> dict[str, int]:
        """How many letters wait for their time, by rule."""
        query = select(CASES.c.rule, func.count()).where(CASES.c.state == WAITING)
        with self._database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query.group_by(CASES.c.rule))}

    def done(self, since: datetime, until: datetime) -> dict[tuple[str, str], int]:
        """Cases by rule and state that came to it within this time."""
        columns = CASES.c
        query = select(columns.rule, columns.state, func.count())
        query = query.where(columns.changed_at >= micros(since), columns.changed_at < micros(until))
        query = query.group_by(columns.rule, columns.state)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return {(row[0], row[1]): row[2] for row in found}

    def held(self) -> list[Held]:
        """What waits for a person, the most first."""
        letters, count = DEAD_LETTERS.c, func.count().label("count")
        keys = [CASES.c.rule, letters.channel, letters.reason]
        query = select(*keys, count, func.min(letters.dead_at)).join(
            CASES, CASES.c.dead_seq == letters.seq
        )
        query = query.where(CASES.c.state == HELD, letters.state == OPEN).group_by(*keys)
        with self._database.reading() as connection:
            found = connection.execute(query.order_by(count.desc(), *keys)).all()
        return [
            Held(
                rule=row[0],
                channel=row[1] or "",
                reason=row[2],
                letters=row[3],
                oldest=instant(row[4]),
            )
            for row in found
        ]


def _due(connection: Connection) -> ColumnElement[bool]:
    """By the index on state and time."""
    return CASES.c.state.in_((REPLAYING, WAITING)) & (CASES.c.due_at <= now(connection))


def _is(column: Any, value: str | None) -> ColumnElement[bool]:
    found: ColumnElement[bool] = column.is_(None) if value is None else column == value
    return found
