"""Batches: how far each has come, who runs it, and which of its rows were not published.

Times are microseconds since 1970.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from notify.store.part import Part
from notify.store.rows import clean, instant, micros
from notify.store.schema import METADATA

RUNNING: Final = "running"
PAUSED: Final = "paused"
CANCELLED: Final = "cancelled"
FINISHED: Final = "finished"
WITH_FAILURES: Final = "finished with failures"

_LOCK: Final = 0x6E6F7470  # any number that is only ours

BATCHES: Final = Table(
    "batches",
    METADATA,
    Column("name", String(96), primary_key=True),
    Column("state", String(32), nullable=False),
    Column("source", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("rate", Double, nullable=False),
    Column("total", BigInteger),
    Column("cursor", BigInteger, nullable=False),
    Column("published", Text, nullable=False),
    Column("rejected", BigInteger, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("repeats", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("owner", Text),
    Column("beat_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Index("batches_created_at", "created_at"),
)

BATCH_FAILURES: Final = Table(
    "batch_failures",
    METADATA,
    Column("batch", String(96), ForeignKey("batches.name"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("id", String(128), nullable=False),
    Column("error", Text, nullable=False),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchFailure:
    """A row that could not be published."""

    number: int
    id: str
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchProgress:
    """All rows up to ``cursor`` are over; the numbers are of these.

    ``published`` is by channel; ``failures`` and ``mended`` came up since the last time, and
    ``repeats`` more rows may be published again.
    """

    cursor: int = 0
    published: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    failures: tuple[BatchFailure, ...] = ()
    mended: tuple[int, ...] = ()
    repeats: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """A batch as the archive has it.

    ``total`` rows are known once the source was read as a whole. ``failed`` rows were not
    published and can be tried again; ``repeats`` is how many rows at most were published
    more than once, because a run was killed: the later copies are recognised by their ids.
    ``owner`` is who runs it now, as the engine wrote it.
    """

    name: str
    state: str = RUNNING
    source: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    rate: float = 0.0
    total: int | None = None
    cursor: int = 0
    published: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    failed: int = 0
    repeats: int = 0
    actor: str = ""
    owner: str | None = None
    beat_at: datetime | None = None
    created_at: datetime | None = None
    changed_at: datetime | None = None

    @property
    def sent(self) -> int:
        """Rows that RabbitMQ has confirmed."""
        return sum(self.published.values())


class Batches(Part):
    """The batches at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def add(self, batch: Batch) -> Batch:
        """Notes a new batch, or returns the one that has this name already."""
        with self._database.writing() as connection:
            if self._database.dialect == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            found = _find(connection, batch.name)
            if found is None:
                insert_batch(connection, batch)
            return found or batch

    def get(self, name: str) -> Batch | None:
        with self._database.reading() as connection:
            return _find(connection, name)

    def latest(self, limit: int) -> list[Batch]:
        query = select(BATCHES).order_by(BATCHES.c.created_at.desc(), BATCHES.c.name).limit(limit)
        with self._database.reading() as connection:
            return [_read(row._asdict()) for row in connection.execute(query).all()]

    def unfinished(self, since: datetime | None = None) -> list[Batch]:
        """Those that run, or would if somebody ran them, oldest first; noted ``since`` then."""
        query = select(BATCHES).where(BATCHES.c.state == RUNNING)
        if since is not None:
            query = query.where(BATCHES.c.created_at >= micros(since))
        query = query.order_by(BATCHES.c.created_at, BATCHES.c.name)
        with self._database.reading() as connection:
            return [_read(row._asdict()) for row in connection.execute(query).all()]

    def amend(self, batch: Batch, owner: str | None) -> bool:
        """Notes what is known of it by now: source, fingerprint, rate and total. False where
        ``owner`` is not who has it."""
        values = {name: _new(batch)[name] for name in ("source", "fingerprint", "rate", "total")}
        change = _change(batch.name).where(BATCHES.c.owner.is_not_distinct_from(owner))
        change = change.values(values | {"beat_at": _now()}).returning(BATCHES.c.name)
        with self._database.writing() as connection:
            return connection.execute(change).scalar() is not None

    def order(self, name: str, state: str, only: Iterable[str]) -> bool:
        """Changes the state, where it is one of ``only``; whoever runs the batch sees it soon."""
        change = update(BATCHES).where(BATCHES.c.name == name, BATCHES.c.state.in_(tuple(only)))
        change = change.values(state=state, changed_at=_now()).returning(BATCHES.c.name)
        with self._database.writing() as connection:
            return connection.execute(change).scalar() is not None

    def take(
        self,
        name: str,
        owner: str,
        alive: Callable[[Batch], bool],
        repeats: int,
        only: Collection[str] = (),
    ) -> Batch | None:
        """Makes ``owner`` the one that runs it, unless there is one that is ``alive``, or its
        state is not one of ``only``, where these are given.

        Who was killed may have published up to ``repeats`` rows that it could not note.
        """
        with self._database.writing() as connection:
            found = _find(connection, name, lock=True)
            if found is None or (found.owner and alive(found)):
                return None
            if only and found.state not in only:
                return None
            more = repeats if found.owner else 0
            values = {"owner": owner, "state": RUNNING, "beat_at": _now(), "changed_at": _now()}
            values["repeats"] = found.repeats + more
            connection.execute(_change(name).values(values))
            return _find(connection, name)

    def save(
        self, name: str, owner: str, progress: BatchProgress, *, leave: str | None = None
    ) -> str | None:
        """Notes how far ``owner`` has come; the batch's state, None where another has it now.

        With ``leave`` the owner gives it up, in that state; "" keeps the one it has.
        """
        with self._database.writing() as connection:
            change = _change(name).where(BATCHES.c.owner == owner)
            values: dict[str, Any] = {"beat_at": _now(), "changed_at": _now()}
            values |= {"cursor": progress.cursor, "rejected": progress.rejected}
            values["published"] = json.dumps(dict(progress.published))
            values["repeats"] = BATCHES.c.repeats + progress.repeats
            if leave is not None:
                values |= {"owner": None} | ({"state": leave} if leave else {})
            change = change.values(values).returning(BATCHES.c.state)
            state: str | None = connection.execute(change).scalar()
            if state is not None and (progress.failures or progress.mended):
                _note_failures(connection, name, progress)
            return state

    def failures(self, name: str, limit: int | None = None) -> list[BatchFailure]:
        columns = BATCH_FAILURES.c
        query = select(columns.number, columns.id, columns.error).where(columns.batch == name)
        query = query.order_by(columns.number).limit(limit)
        with self._database.reading() as connection:
            return [BatchFailure(**row._asdict()) for row in connection.execute(query).all()]

    def errors(self, name: str) -> dict[str, int]:
        """How many rows were not published for each reason, the most first."""
        columns, count = BATCH_FAILURES.c, func.count().label("count")
        query = select(columns.error, count).where(columns.batch == name)
        query = query.group_by(columns.error).order_by(count.desc(), columns.error)
        with self._database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}


def _change(name: str) -> Any:
    return update(BATCHES).where(BATCHES.c.name == name)


def _find(connection: Connection, name: str, *, lock: bool = False) -> Batch | None:
    query = select(BATCHES).where(BATCHES.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return _read(row._asdict()) if row else None


def _note_failures(connection: Connection, name: str, progress: BatchProgress) -> None:
    columns = BATCH_FAILURES.c
    again = {*progress.mended, *(failure.number for failure in progress.failures)}
    old = delete(BATCH_FAILURES).where(columns.batch == name, columns.number.in_(again))
    connection.execute(old)
    new = [
        {"batch": name, "number": each.number, "id": each.id, "error": clean(each.error)}
        for each in progress.failures
    ]
    if new:
        connection.execute(insert(BATCH_FAILURES), new)
    count = select(func.count()).select_from(BATCH_FAILURES).where(columns.batch == name)
    connection.execute(_change(name).values(failed=count.scalar_subquery()))


def insert_batch(connection: Connection, batch: Batch) -> None:
    """Notes a new batch within a transaction that notes more."""
    connection.execute(insert(BATCHES).values(_new(batch)))


def _new(batch: Batch) -> dict[str, Any]:
    names = ("name", "state", "fingerprint", "rate", "total", "cursor", "rejected", "failed")
    values = {name: getattr(batch, name) for name in (*names, "repeats", "owner")}
    values |= {"source": json.dumps(dict(batch.source)), "actor": clean(batch.actor)}
    values["published"] = json.dumps(dict(batch.published))
    return values | {"beat_at": None, "created_at": _now(), "changed_at": _now()}


def _read(row: Mapping[str, Any]) -> Batch:
    values = dict(row) | {name: json.loads(row[name]) for name in ("source", "published")}
    for name in ("beat_at", "created_at", "changed_at"):
        values[name] = instant(row[name])
    return Batch(**values)


def _now() -> int | None:
    return micros(datetime.now(UTC))
