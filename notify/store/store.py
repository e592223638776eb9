"""The archive's operations, each one transaction. Safe in threads."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, case, func, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from notify.deadletter import DeadLetter
from notify.errors import NotFound, StoreUnavailable
from notify.store import rows
from notify.store.engine import Database
from notify.store.filters import Filter, conditions
from notify.store.rows import ArchivedLetter, Replay
from notify.store.schema import DEAD_LETTERS, META, METADATA, REPLAYS, VERSION

_COUNTABLE: Final = ("channel", "priority", "provider", "reason", "state")
_LOCK: Final = 0x6E6F7469  # any number that is only ours
_UPSERTS: Final[Mapping[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class Store:
    """The archive at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        if self._database.dialect not in _UPSERTS:
            raise StoreUnavailable("the archive must be SQLite or PostgreSQL")

    def create(self) -> None:
        """Creates what is missing; any number of processes may do so at once."""
        with self._database.writing() as connection:
            if self._database.dialect == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            METADATA.create_all(connection)
            if _version(connection) is None:
                connection.execute(insert(META).values(name="schema", value=VERSION))
            _check_version(connection)

    def check(self) -> None:
        """Whether the archive can be read and written."""
        with self._database.writing() as connection:
            _check_version(connection)
            connection.execute(update(META).where(META.c.name == "schema").values(value=VERSION))

    def close(self) -> None:
        self._database.close()

    def add(self, letters: Sequence[DeadLetter]) -> int:
        """Archives all or none; returns how many were not there before."""
        new = rows.to_rows(letters, datetime.now(UTC))
        if not new:
            return 0
        with self._database.writing() as connection:
            known = _count_known(connection, [row["identity"] for row in new])
            connection.execute(_upsert(self._database.dialect), new)
        return len(new) - known

    def find(self, wanted: Filter) -> list[ArchivedLetter]:
        """The latest first."""
        columns = DEAD_LETTERS.c
        query = self._matching(select(DEAD_LETTERS), wanted)
        query = query.order_by(columns.dead_at.desc(), columns.seq.desc())
        return self._letters(query.limit(wanted.limit).offset(wanted.offset))

    def get(self, key: int | str) -> list[ArchivedLetter]:
        """By number of the dead letter or by id of the notification; the earliest first."""
        column = DEAD_LETTERS.c.seq if isinstance(key, int) else DEAD_LETTERS.c.id
        query = select(DEAD_LETTERS).where(column == key)
        return self._letters(query.order_by(DEAD_LETTERS.c.seq))

    def count(self, wanted: Filter) -> int:
        query = self._matching(select(func.count()).select_from(DEAD_LETTERS), wanted)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def counts_by(self, field: str, wanted: Filter) -> dict[str, int]:
        """How many for each value of a field, the most first; "" where there is none."""
        if field not in _COUNTABLE:
            raise NotFound(f"{field}: must be one of {', '.join(_COUNTABLE)}")
        column = DEAD_LETTERS.c[field]
        query = self._matching(select(column, func.count().label("number")), wanted)
        query = query.group_by(column).order_by(text("number DESC"), column)
        with self._database.reading() as connection:
            return {value or "": number for value, number in connection.execute(query)}

    def begin_replay(self, seq: int, actor: str, new_generation: int, now: datetime) -> int:
        """Notes the intention before anything is published; returns the replay's number."""
        with self._database.writing() as connection:
            columns = DEAD_LETTERS.c
            query = select(columns.generation).where(columns.seq == seq)
            generation = connection.execute(query).scalar()
            if generation is None:
                raise NotFound(f"there is no dead letter {seq}")
            values = {
                "dead_seq": seq,
                "at": rows.micros(now),
                "actor": rows.clean(actor),
                "from_generation": generation,
                "new_generation": new_generation,
                "state": rows.PUBLISHING,
                "note": "",
            }
            result = connection.execute(insert(REPLAYS).values(values).returning(REPLAYS.c.seq))
            return int(result.scalar_one())

    def finish_replay(self, replay_seq: int, ok: bool, note: str = "") -> None:
        """Notes what came of a replay."""
        columns = REPLAYS.c
        outcome = {"state": rows.PUBLISHED if ok else rows.FAILED, "note": rows.clean(note)}
        change = update(REPLAYS).where(columns.seq == replay_seq).values(outcome)
        with self._database.writing() as connection:
            dead_seq = connection.execute(change.returning(columns.dead_seq)).scalar()
            if dead_seq is None:
                raise NotFound(f"there is no replay {replay_seq}")
            if ok:
                dead = update(DEAD_LETTERS).where(DEAD_LETTERS.c.seq == dead_seq)
                connection.execute(dead.values(state=rows.REPLAYED))

    def replays_of(self, dead_seq: int) -> list[Replay]:
        query = select(REPLAYS).where(REPLAYS.c.dead_seq == dead_seq).order_by(REPLAYS.c.seq)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [rows.to_replay(row._asdict()) for row in found]

    def _matching(self, query: Select[Any], wanted: Filter) -> Select[Any]:
        return query.where(*conditions(wanted, self._database.dialect))

    def _letters(self, query: Select[Any]) -> list[ArchivedLetter]:
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [rows.from_row(row._asdict()) for row in found]


def _version(connection: Connection) -> int | None:
    query = select(META.c.value).where(META.c.name == "schema")
    return connection.execute(query).scalar()


def _check_version(connection: Connection) -> None:
    version = _version(connection)
    if version != VERSION:
        raise StoreUnavailable(
            f"the archive has schema {version}, and this program knows only {VERSION}"
        )


def _count_known(connection: Connection, identities: list[str]) -> int:
    query = select(func.count()).select_from(DEAD_LETTERS)
    query = query.where(DEAD_LETTERS.c.identity.in_(identities))
    return int(connection.execute(query).scalar_one())


def _upsert(dialect: str) -> Any:
    """A letter that is there stays as it is; only what has no id is counted."""
    statement = _UPSERTS[dialect](DEAD_LETTERS)
    columns = DEAD_LETTERS.c
    more = columns.count + statement.excluded.count
    return statement.on_conflict_do_update(
        index_elements=[columns.identity],
        set_={"count": case((columns.id.is_(None), more), else_=columns.count)},
    )
