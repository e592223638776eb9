"""Schedules as the database has them: the truth from which Redis can be filled again.

Every change has a number, and the numbers are in the order of the commits: whoever has seen
all up to one of them asks for what came later. A schedule that is removed stays as a tombstone
without content, so that an old copy of it elsewhere is known to be old.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Select,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from notify.store.part import Part
from notify.store.rows import clean, micros
from notify.store.schedulerows import SCHEDULES, StoredSchedule, Wanted, from_row, to_row
from notify.store.schema import META

# Its name is made of an id, and is not given away again.
ONCE: Final = "once"
REMOVED: Final = "removed"

# Behind every name: its characters come earlier.
LAST: Final = "~"

_PAGE: Final = 500
_IDENTITY: Final = "schedules_identity"
_CHANGE: Final = "schedules_change"
_PULSE: Final = "schedules_pulse"


class Schedules(Part):
    """The schedules at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def identity(self) -> int:
        """Which database this is: never the same for two that were made apart."""
        return self._number(_IDENTITY)

    def last_change(self) -> int:
        return self._number(_CHANGE)

    def pulse(self) -> int:
        """How often somebody has looked whether Redis has all."""
        return self._number(_PULSE)

    def note_pulse(self, pulse: int) -> None:
        """It never goes back."""
        higher = update(META).where(META.c.name == _PULSE, META.c.value < pulse)
        with self._database.writing() as connection:
            connection.execute(higher.values(value=pulse))

    def get(self, name: str) -> StoredSchedule | None:
        """Also one that is gone, as long as it is remembered."""
        return next(iter(self.named([name])), None)

    def named(self, names: Iterable[str]) -> list[StoredSchedule]:
        return self._read(select(SCHEDULES).where(SCHEDULES.c.name.in_(tuple(names))))

    def page(self, wanted: Wanted, *, after: str = "", limit: int = _PAGE) -> list[StoredSchedule]:
        """Those that live, by name, from behind ``after``."""
        query = _matching(select(SCHEDULES), wanted).where(SCHEDULES.c.name > after)
        return self._read(query.order_by(SCHEDULES.c.name).limit(limit))

    def stream(self, wanted: Wanted) -> Iterator[StoredSchedule]:
        """All of them, a page at a time and without holding the database."""
        found = self.page(wanted)
        while found:
            yield from found
            found = self.page(wanted, after=found[-1].name)

    def count(self, wanted: Wanted | None = None) -> int:
        """How many live."""
        query = _matching(select(func.count()).select_from(SCHEDULES), wanted or Wanted())
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def changed_since(
        self, change: int, after: str = LAST, limit: int = _PAGE
    ) -> list[StoredSchedule]:
        """What changed later, in that order, the gone among them.

        To go on after a page: the change and the name of its last.
        """
        key = tuple_(SCHEDULES.c.change, SCHEDULES.c.name)
        query = select(SCHEDULES).where(key > tuple_(change, after))
        return self._read(query.order_by(SCHEDULES.c.change, SCHEDULES.c.name).limit(limit))

    def add(self, schedule: StoredSchedule) -> StoredSchedule | None:
        """Stores a new one; returns what has its name instead, if that lives.

        One that is gone gives its name away, but for a one-shot's, whose name is an id.
        """
        with self._database.writing() as connection:
            change = next_change(connection)
            found = _find(connection, schedule.name)
            if found is not None and (found.lives or found.origin == ONCE):
                return found
            values = to_row(replace(schedule, change=change))
            connection.execute(delete(SCHEDULES).where(SCHEDULES.c.name == schedule.name))
            connection.execute(insert(SCHEDULES).values(values))
            return None

    def put(self, schedules: Sequence[StoredSchedule]) -> None:
        """Stores them whatever was there, all or none."""
        with self._database.writing() as connection:
            change = next_change(connection)
            for start in range(0, len(schedules), _PAGE):
                some = schedules[start : start + _PAGE]
                names = [each.name for each in some]
                connection.execute(delete(SCHEDULES).where(SCHEDULES.c.name.in_(names)))
                rows = [to_row(replace(each, change=change)) for each in some]
                connection.execute(insert(SCHEDULES), rows)

    def replace(self, schedule: StoredSchedule, change: int) -> bool:
        """Changes it, unless it has changed since that ``change``."""
        values = to_row(schedule)
        for name in ("name", "created_at", "created_by"):
            del values[name]
        return self._change(schedule.name, values, SCHEDULES.c.change == change)

    def pause(self, name: str, paused: bool, since: datetime | None, actor: str) -> bool:
        """False where none lives. With ``since`` nothing planned before that is fired."""
        values: dict[str, Any] = {"paused": int(paused), "changed_by": clean(actor)}
        values |= {"changed_at": micros(datetime.now(UTC))}
        return self._change(name, values | ({"since": micros(since)} if since else {}))

    def remove(self, name: str, actor: str, ending: str = REMOVED) -> bool:
        """Leaves a tombstone without content. False where none lives."""
        now = micros(datetime.now(UTC))
        values = {"changed_at": now, "changed_by": clean(actor)}
        return self._change(name, values | gone(now, ending))

    def forget(self, before: datetime, limit: int = _PAGE) -> int:
        """Deletes tombstones of what was removed before, at most ``limit``; returns how many."""
        old = select(SCHEDULES.c.name).where(SCHEDULES.c.deleted_at < micros(before)).limit(limit)
        with self._database.writing() as connection:
            done = connection.execute(delete(SCHEDULES).where(SCHEDULES.c.name.in_(old)))
            return int(done.rowcount)

    def _change(self, name: str, values: dict[str, Any], *conditions: Any) -> bool:
        with self._database.writing() as connection:
            change = next_change(connection)
            statement = update(SCHEDULES).where(
                SCHEDULES.c.name == name, SCHEDULES.c.deleted_at.is_(None), *conditions
            )
            done = connection.execute(statement.values(values | {"change": change}))
            return bool(done.rowcount)

    def _number(self, name: str) -> int:
        query = select(META.c.value).where(META.c.name == name)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def _read(self, query: Select[Any]) -> list[StoredSchedule]:
        with self._database.reading() as connection:
            return [from_row(row._asdict()) for row in connection.execute(query).all()]


def gone(now: int, ending: str) -> dict[str, Any]:
    """What is written over one that ends: its content is personal data."""
    return {"spec": "{}", "deleted_at": now, "ending": ending}


def next_change(connection: Connection) -> int:
    """Whoever writes holds this row until the commit, so that the numbers are in its order."""
    statement = update(META).where(META.c.name == _CHANGE).values(value=META.c.value + 1)
    return int(connection.execute(statement.returning(META.c.value)).scalar_one())


def _matching(query: Select[Any], wanted: Wanted) -> Select[Any]:
    columns = SCHEDULES.c
    query = query.where(columns.deleted_at.is_(None))
    if wanted.prefix:
        query = query.where(columns.name >= wanted.prefix, columns.name < wanted.prefix + LAST)
    for name in ("origin", "channel", "kind"):
        value = getattr(wanted, name)
        if value is not None:
            query = query.where(columns[name] == value)
    if wanted.paused is not None:
        query = query.where(columns.paused == int(wanted.paused))
    return query


def _find(connection: Connection, name: str) -> StoredSchedule | None:
    row = connection.execute(select(SCHEDULES).where(SCHEDULES.c.name == name)).one_or_none()
    return from_row(row._asdict()) if row else None
