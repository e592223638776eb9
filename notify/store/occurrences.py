"""What became of each planned instant of each schedule.

One row for each schedule, instant and outcome: what is reported twice, by two beats or after a
lost answer, is there once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    String,
    Table,
    Text,
    delete,
    exists,
    func,
    select,
    tuple_,
    update,
)

from notify.store.engine import INSERTS
from notify.store.part import Part
from notify.store.rows import clean, instant, micros
from notify.store.schedulerows import NAME, SCHEDULES
from notify.store.schedules import gone, next_change
from notify.store.schema import METADATA, SERIAL

FIRED: Final = "fired"
SKIPPED: Final = "skipped"
MISSED: Final = "missed"
FAILED: Final = "failed"
# Beside the plan, because somebody asked for it.
EXTRA: Final = "extra"
OUTCOMES: Final = (FIRED, SKIPPED, MISSED, FAILED, EXTRA)
# After these an instant is over.
OVER: Final = (FIRED, SKIPPED, MISSED, FAILED)

_ROWS: Final = 500

OCCURRENCES: Final = Table(
    "occurrences",
    METADATA,
    Column("seq", SERIAL, primary_key=True, autoincrement=True),
    Column("schedule", NAME, nullable=False),
    Column("planned", BigInteger, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("actual", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
    Column("ref", Text, nullable=False),
    Column("note", Text, nullable=False),
    Index("occurrences_one", "schedule", "planned", "outcome", unique=True),
    Index("occurrences_actual", "actual"),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """One planned instant, or ``count`` of them up to ``planned``, and what came of it.

    ``fired``: RabbitMQ has it. ``skipped``: not wanted, by the schedule's policy. ``missed``: its
    window was over before anybody could fire it. ``failed``: its window was over, and until then
    it could not be fired, ``note`` says why. ``ref`` is the notification's id, or the batch's
    name. Nothing in it is personal data.
    """

    schedule: str
    planned: datetime
    actual: datetime
    outcome: str
    count: int = 1
    ref: str = ""
    note: str = ""

    @property
    def lag(self) -> timedelta:
        return self.actual - self.planned


class Occurrences(Part):
    """The history at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def add(self, occurrences: Sequence[Occurrence]) -> None:
        """Notes them, all or none, and that one-shots among them have come to their end."""
        if not occurrences:
            return
        rows = _to_rows(occurrences)
        ends = {row["schedule"]: row for row in rows if row["outcome"] in OVER}
        with self._database.writing() as connection:
            connection.execute(_insert(self._database.dialect), rows)
            _end_one_shots(connection, ends)

    def of(
        self,
        schedule: str,
        *,
        limit: int = 50,
        before: datetime | None = None,
        outcome: str | None = None,
    ) -> list[Occurrence]:
        """The latest planned first."""
        columns = OCCURRENCES.c
        query = select(OCCURRENCES).where(columns.schedule == schedule)
        if before is not None:
            query = query.where(columns.planned < micros(before))
        if outcome is not None:
            query = query.where(columns.outcome == outcome)
        query = query.order_by(columns.planned.desc(), columns.outcome).limit(limit)
        with self._database.reading() as connection:
            return [_from_row(row._asdict()) for row in connection.execute(query).all()]

    def counts(self, schedule: str) -> dict[str, int]:
        """How many instants came to each outcome, as far as is remembered."""
        columns = OCCURRENCES.c
        query = select(columns.outcome, func.sum(columns.count))
        query = query.where(columns.schedule == schedule)
        with self._database.reading() as connection:
            found = connection.execute(query.group_by(columns.outcome).order_by(columns.outcome))
            return {outcome: int(count) for outcome, count in found.all()}

    def last(self, schedules: Iterable[str]) -> dict[str, datetime]:
        """The last planned instant of each that is over, where there is one.

        What became of another one, which had that name before, is not looked at.
        """
        columns = OCCURRENCES.c
        newest = (
            select(columns.planned)
            .where(columns.schedule == SCHEDULES.c.name, columns.outcome.in_(OVER))
            .where(columns.actual >= SCHEDULES.c.created_at)
            .order_by(columns.planned.desc())
            .limit(1)
            .scalar_subquery()
        )
        query = select(SCHEDULES.c.name, newest).where(SCHEDULES.c.name.in_(tuple(schedules)))
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return {name: instant(planned) for name, planned in found if planned is not None}

    def recent(self, since: datetime) -> list[str]:
        """The schedules of which an instant came to its end since."""
        columns = OCCURRENCES.c
        query = select(columns.schedule).where(columns.actual >= micros(since)).distinct()
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(columns.schedule)).scalars())

    def purge(self, before: datetime) -> int:
        """Deletes what happened before, some at a time; returns how many.

        The last of each schedule that lives stays: it says from where to go on.
        """
        total, cursor = 0, (0, 0)
        while True:
            with self._database.writing() as connection:
                found = _older(connection, before, cursor)
                total += _delete_passed(connection, [seq for _, seq in found])
            if len(found) < _ROWS:
                return total
            cursor = found[-1]


def _older(
    connection: Connection, before: datetime, cursor: tuple[int, int]
) -> list[tuple[int, int]]:
    columns = OCCURRENCES.c
    key = tuple_(columns.actual, columns.seq)
    query = select(columns.actual, columns.seq).where(columns.actual < micros(before))
    query = query.where(key > tuple_(*cursor)).order_by(columns.actual, columns.seq).limit(_ROWS)
    return [(actual, seq) for actual, seq in connection.execute(query).all()]


def _delete_passed(connection: Connection, seqs: Sequence[int]) -> int:
    columns, later = OCCURRENCES.c, OCCURRENCES.alias("later")
    newer = exists().where(
        later.c.schedule == columns.schedule,
        later.c.planned > columns.planned,
        later.c.outcome.in_(OVER),
    )
    lives = exists().where(SCHEDULES.c.name == columns.schedule, SCHEDULES.c.deleted_at.is_(None))
    passed = delete(OCCURRENCES).where(columns.seq.in_(seqs), newer | ~lives)
    return int(connection.execute(passed).rowcount)


def _end_one_shots(connection: Connection, ends: Mapping[str, Mapping[str, Any]]) -> None:
    columns, names = SCHEDULES.c, sorted(ends)
    for start in range(0, len(names), _ROWS):
        some = names[start : start + _ROWS]
        query = select(columns.name, columns.spec).where(
            columns.name.in_(some), columns.kind == "at", columns.deleted_at.is_(None)
        )
        rows = connection.execute(query).all()
        # It may have got another instant meanwhile, which is yet to come.
        found = [name for name, spec in rows if _instant_of(spec) == ends[name]["planned"]]
        if found:
            change = next_change(connection)
            _end(connection, {name: ends[name] for name in found}, change)


def _instant_of(spec: str) -> int | None:
    """Of a one-shot, as it is stored."""
    at = json.loads(spec).get("at")
    return None if at is None else micros(datetime.fromisoformat(at))


def _end(connection: Connection, ends: Mapping[str, Mapping[str, Any]], change: int) -> None:
    for outcome in OVER:
        names = [name for name, row in ends.items() if row["outcome"] == outcome]
        if names:
            now = max(ends[name]["actual"] for name in names)
            values = {"change": change} | gone(now, outcome)
            ending = update(SCHEDULES).where(SCHEDULES.c.name.in_(names))
            connection.execute(ending.values(values))


def _insert(dialect: str) -> Any:
    columns = OCCURRENCES.c
    key = [columns.schedule, columns.planned, columns.outcome]
    return INSERTS[dialect](OCCURRENCES).on_conflict_do_nothing(index_elements=key)


def _to_rows(occurrences: Iterable[Occurrence]) -> list[dict[str, Any]]:
    return [
        {
            "schedule": each.schedule,
            "planned": micros(each.planned),
            "actual": micros(each.actual),
            "outcome": each.outcome,
            "count": each.count,
            "ref": clean(each.ref),
            "note": clean(each.note),
        }
        for each in occurrences
    ]


def _from_row(row: Mapping[str, Any]) -> Occurrence:
    values = {name: row[name] for name in ("schedule", "outcome", "count", "ref", "note")}
    return Occurrence(planned=instant(row["planned"]), actual=instant(row["actual"]), **values)
