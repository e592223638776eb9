"""The archive's operations, each one transaction. Safe in threads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Select, case, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from notify.deadletter import DeadLetter
from notify.errors import NotFound, StoreUnavailable
from notify.store import backups, purging, rows
from notify.store.counting import count_by
from notify.store.engine import Database
from notify.store.filters import Filter, beyond, in_order, matching
from notify.store.migrating import check_version, migrate, version
from notify.store.purging import Purge
from notify.store.rows import ArchivedLetter, Replay, Reveal
from notify.store.schema import DEAD_LETTERS, LABELS, META, REPLAYS, REVEALS, VERSION

_PAGE: Final = 500
_UPSERTS: Final[Mapping[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class Store:
    """The archive at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        if self._database.dialect not in _UPSERTS:
            raise StoreUnavailable("the archive must be SQLite or PostgreSQL")

    def create(self) -> None:
        """Makes the tables what they must be; any number of processes may do so at once.

        An archive of an earlier version is migrated, all or nothing.
        """
        if self.version() == VERSION:
            return
        with self._database.writing() as connection:
            migrate(connection)

    def check(self) -> None:
        """Whether the archive can be read and written."""
        with self._database.writing() as connection:
            check_version(version(connection))
            connection.execute(update(META).where(META.c.name == "schema").values(value=VERSION))

    def version(self) -> int | None:
        """The number of its schema; None where there are no tables."""
        with self._database.reading() as connection:
            return version(connection)

    def close(self) -> None:
        self._database.close()

    def add(self, letters: Sequence[DeadLetter]) -> int:
        """Archives all or none; returns how many were not there before."""
        all_rows = rows.to_rows(letters, datetime.now(UTC))
        if not all_rows:
            return 0
        with self._database.writing() as connection:
            known = _seqs(connection, [row["identity"] for row in all_rows])
            connection.execute(_upsert(self._database.dialect), all_rows)
            new = [row for row in all_rows if row["identity"] not in known]
            _add_labels(connection, [row for row in new if row["labels"] != "{}"])
        return len(new)

    def find(self, wanted: Filter) -> list[ArchivedLetter]:
        """The latest first, or as the filter says. Raises ``NotFound`` for a wrong ``after``."""
        query = in_order(matching(wanted, DEAD_LETTERS), wanted)
        if wanted.after is not None:
            query = query.where(beyond(wanted, self._dead_at(wanted.after), wanted.after))
        return self._letters(query.limit(wanted.limit).offset(wanted.offset))

    def stream(self, wanted: Filter) -> Iterator[ArchivedLetter]:
        """All of them, a page at a time: in little memory, and without holding the archive."""
        page = replace(wanted, limit=_PAGE, offset=0)
        query = in_order(matching(page, DEAD_LETTERS), page).limit(_PAGE)
        found = self._letters(query)
        while found:
            yield from found
            last = found[-1]
            dead_at = rows.micros(last.letter.dead_at)
            found = self._letters(query.where(beyond(page, dead_at, last.seq)))

    def get(self, key: int | str) -> list[ArchivedLetter]:
        """By number of the dead letter or by id of the notification; the earliest first."""
        column = DEAD_LETTERS.c.seq if isinstance(key, int) else DEAD_LETTERS.c.id
        query = select(DEAD_LETTERS).where(column == key)
        return self._letters(query.order_by(DEAD_LETTERS.c.seq))

    def count(self, wanted: Filter, at_most: int | None = None) -> int:
        """How many match; with ``at_most`` it stops there, because a million takes a while."""
        if at_most is None:
            query = matching(wanted, func.count())
        else:
            some = matching(wanted, DEAD_LETTERS.c.seq).limit(at_most)
            query = select(func.count()).select_from(some.subquery())
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def counts_by(self, field: str, wanted: Filter) -> dict[str, int]:
        """How many for each value of a field, the most first; "" where there is none.

        ``field`` may be ``day``, ``hour`` or ``label.NAME`` too. Raises ``NotFound``.
        """
        with self._database.reading() as connection:
            return count_by(connection, field, wanted)

    def doomed(self, purge: Purge) -> dict[str, int]:
        """What a purge would delete, by reason."""
        with self._database.reading() as connection:
            return purging.count(connection, purge)

    def purge(self, purge: Purge) -> int:
        """Deletes for good, some at a time; returns how many letters."""
        return purging.delete_all(self._database, purge)

    def note_reveal(self, actor: str, what: str, letters: int) -> None:
        """Before personal data is shown. ``what`` must hold none."""
        values = {
            "at": rows.micros(datetime.now(UTC)),
            "actor": rows.clean(actor),
            "what": rows.clean(what),
            "letters": letters,
        }
        with self._database.writing() as connection:
            connection.execute(insert(REVEALS).values(values))

    def reveals(self, limit: int) -> list[Reveal]:
        """Who looked at personal data, the latest first."""
        query = select(REVEALS).order_by(REVEALS.c.seq.desc()).limit(limit)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [rows.to_reveal(row._asdict()) for row in found]

    def backup(self, target: Path) -> None:
        """A copy of the whole archive as it is now, while others go on writing."""
        backups.backup(self._database, target)

    def restore(self, source: Path) -> None:
        """Replaces all that is in the archive by a backup, and migrates that."""
        backups.restore(self._database, source)
        self.create()

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

    def _dead_at(self, seq: int) -> int:
        query = select(DEAD_LETTERS.c.dead_at).where(DEAD_LETTERS.c.seq == seq)
        with self._database.reading() as connection:
            found = connection.execute(query).scalar()
        if found is None:
            raise NotFound(f"there is no dead letter {seq}")
        return int(found)

    def _letters(self, query: Select[Any]) -> list[ArchivedLetter]:
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [rows.from_row(row._asdict()) for row in found]


def _seqs(connection: Connection, identities: list[str]) -> dict[str, int]:
    """The numbers of those that are there."""
    columns = DEAD_LETTERS.c
    query = select(columns.identity, columns.seq).where(columns.identity.in_(identities))
    return dict(connection.execute(query).all())


def _add_labels(connection: Connection, new: list[dict[str, Any]]) -> None:
    if not new:
        return
    seqs = _seqs(connection, [row["identity"] for row in new])
    labels = [each for row in new for each in rows.label_rows(row, seqs[row["identity"]])]
    connection.execute(insert(LABELS), labels)


def _upsert(dialect: str) -> Any:
    """A letter that is there stays as it is; only what has no id is counted."""
    statement = _UPSERTS[dialect](DEAD_LETTERS)
    columns = DEAD_LETTERS.c
    more = columns.count + statement.excluded.count
    return statement.on_conflict_do_update(
        index_elements=[columns.identity],
        set_={"count": case((columns.id.is_(None), more), else_=columns.count)},
    )
