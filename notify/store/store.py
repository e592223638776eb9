"""The archive's operations, each one transaction. Safe in threads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Select, func, insert, select, update

from notify.deadletter import DeadLetter
from notify.errors import NotFound
from notify.store import adding, backups, copying, purging, rows
from notify.store.backups import Backup
from notify.store.counting import count_by
from notify.store.filters import Filter, beyond, in_order, matching, on_page
from notify.store.migrating import check_version, version
from notify.store.narrowing import narrowest
from notify.store.part import Part
from notify.store.purging import Purge
from notify.store.rows import ArchivedLetter, Replay, Reveal
from notify.store.schema import DEAD_LETTERS, META, REPLAYS, REVEALS, VERSION

_PAGE: Final = 500
_BEYOND: Final = 2**63  # no number of a row


class Store(Part):
    """The archive at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def check(self) -> None:
        """Whether the archive can be read and written."""
        with self._database.writing() as connection:
            check_version(version(connection))
            connection.execute(update(META).where(META.c.name == "schema").values(value=VERSION))

    def version(self) -> int | None:
        """The number of its schema; None where there are no tables."""
        with self._database.reading() as connection:
            return version(connection)

    def add(self, letters: Sequence[DeadLetter]) -> int:
        """Archives all or none; returns how many were not there before."""
        all_rows = rows.to_rows(letters, datetime.now(UTC))
        if not all_rows:
            return 0
        with self._database.writing() as connection:
            return adding.add(connection, all_rows)

    def find(self, wanted: Filter) -> list[ArchivedLetter]:
        """The latest first, or as the filter says. Raises ``NotFound`` for a wrong ``after``."""
        with self._database.reading() as connection:
            wanted = narrowest(connection, wanted)
            query = on_page(in_order(matching(wanted, DEAD_LETTERS), wanted), wanted)
            if wanted.after is not None:
                dead_at = _dead_at(connection, wanted.after)
                query = query.where(beyond(wanted, dead_at, wanted.after))
            return _letters(connection, query)

    def stream(self, wanted: Filter) -> Iterator[ArchivedLetter]:
        """All of them, a page at a time: in little memory, and without holding the archive."""
        with self._database.reading() as connection:
            page = replace(narrowest(connection, wanted), limit=_PAGE, offset=0)
        query = on_page(in_order(matching(page, DEAD_LETTERS), page), page)
        found = self._letters(query)
        while found:
            yield from found
            last = found[-1]
            dead_at = rows.micros(last.letter.dead_at)
            found = self._letters(query.where(beyond(page, dead_at, last.seq)))

    def get(self, key: int | str) -> list[ArchivedLetter]:
        """By number of the dead letter or by id of the notification; the earliest first."""
        columns = DEAD_LETTERS.c
        if isinstance(key, int):
            query = select(DEAD_LETTERS).where(columns.seq == (key if key < _BEYOND else 0))
        else:
            query = select(DEAD_LETTERS).where(columns.id == rows.clean(key))
        return self._letters(query.order_by(columns.seq))

    def count(self, wanted: Filter, at_most: int | None = None) -> int:
        """How many match; with ``at_most`` it stops there, because a million takes a while."""
        with self._database.reading() as connection:
            wanted = narrowest(connection, wanted)
            if at_most is None:
                query = matching(wanted, func.count())
            else:
                some = matching(wanted, DEAD_LETTERS.c.seq).limit(at_most)
                query = select(func.count()).select_from(some.subquery())
            return int(connection.execute(query).scalar_one())

    def counts_by(self, field: str, wanted: Filter) -> dict[str, int]:
        """How many for each value of a field, the most first; "" where there is none.

        ``field`` may be ``day``, ``hour`` or ``label.NAME`` too. Raises ``NotFound``.
        """
        with self._database.reading() as connection:
            return count_by(connection, field, wanted)

    def doomed(self, *purges: Purge) -> dict[str, int]:
        """What any of the purges would delete, by reason."""
        with self._database.reading() as connection:
            return purging.count(connection, purges)

    def purge(self, purge: Purge, stop: Callable[[], bool] = purging.go_on) -> int:
        """Deletes for good, some at a time, until ``stop``; returns how many letters."""
        return purging.delete_all(self._database, purge, stop)

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

    def inspect(self, source: Path) -> Backup:
        """What would be restored. Raises ``InvalidInput`` for what cannot be."""
        return backups.inspect(self._database, source)

    def restore(self, source: Path) -> None:
        """Replaces all that is in the archive by a backup, and migrates that."""
        backups.restore(self._database, source)
        self.create()

    def content(self) -> dict[str, int]:
        """How many rows each table has."""
        return copying.content(self._database)

    def check_empty(self) -> None:
        """Raises ``InvalidInput`` unless it has no tables yet, or nothing in them."""
        copying.check_target(self._database)

    def copy_to(self, target: "Store", told: Callable[[str, int], None]) -> dict[str, int]:
        """Copies all that is in the archive, or nothing; returns the numbers of rows.

        ``told`` is told of each table how many more rows were copied. What others write
        meanwhile is not copied. Raises ``InvalidInput`` where there is something already.
        """
        return copying.copy_all(self._database, target._database, told)

    def replays_of(self, dead_seq: int) -> list[Replay]:
        """Those of releases before there were runs of replays, the first one first."""
        query = select(REPLAYS).where(REPLAYS.c.dead_seq == dead_seq).order_by(REPLAYS.c.seq)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [rows.to_replay(row._asdict()) for row in found]

    def _letters(self, query: Select[Any]) -> list[ArchivedLetter]:
        with self._database.reading() as connection:
            return _letters(connection, query)


def _letters(connection: Connection, query: Select[Any]) -> list[ArchivedLetter]:
    found = connection.execute(query).all()
    return [rows.from_row(row._asdict()) for row in found]


def _dead_at(connection: Connection, seq: int) -> int:
    query = select(DEAD_LETTERS.c.dead_at).where(DEAD_LETTERS.c.seq == seq)
    found = connection.execute(query).scalar() if seq < _BEYOND else None
    if found is None:
        raise NotFound(f"there is no dead letter {seq}")
    return int(found)
