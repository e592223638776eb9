"""Who acts on the archive by itself, what it has to remember, and what is paused."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, select, text, update

from notify.store.caretables import STATE
from notify.store.engine import INSERTS, Database
from notify.store.part import Part
from notify.store.rows import clean, instant

LEADER: Final = "leader"
_PAUSED: Final = "paused:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """A rule that is paused, or all of them (""), by whom, since when."""

    rule: str
    by: str
    since: datetime


class Notes(Part):
    """Of the archive at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    @property
    def database(self) -> Database:
        """For what is kept beside the notes."""
        return self._database

    def lead(self, owner: str, seconds: float) -> bool:
        """Whether ``owner`` is the one that acts, from now on for so many seconds."""
        with self._database.writing() as connection:
            present = now(connection)
            until = present + int(seconds * 1e6)
            taken = update(STATE).where(STATE.c.name == LEADER)
            taken = taken.where((STATE.c.value == owner) | (STATE.c.at < present))
            taken = taken.values(value=owner, at=until).returning(STATE.c.name)
            if connection.execute(taken).scalar() is not None:
                return True
            values = {"name": LEADER, "value": owner, "at": until}
            new = INSERTS[self._database.dialect](STATE).values(values).on_conflict_do_nothing()
            return connection.execute(new.returning(STATE.c.name)).scalar() is not None

    def leader(self) -> str | None:
        """Who acts now."""
        with self._database.reading() as connection:
            query = select(STATE.c.value).where(STATE.c.name == LEADER)
            return connection.execute(query.where(STATE.c.at >= now(connection))).scalar()

    def resign(self, owner: str) -> None:
        with self._database.writing() as connection:
            mine = (STATE.c.name == LEADER) & (STATE.c.value == owner)
            connection.execute(delete(STATE).where(mine))

    def note(self, name: str, value: str) -> None:
        """Keeps a value under a name."""
        with self._database.writing() as connection:
            values = {"value": value, "at": now(connection)}
            new = INSERTS[self._database.dialect](STATE).values(values | {"name": name})
            change = new.on_conflict_do_update(index_elements=[STATE.c.name], set_=values)
            connection.execute(change)

    def noted(self, name: str) -> str | None:
        with self._database.reading() as connection:
            return connection.execute(select(STATE.c.value).where(STATE.c.name == name)).scalar()

    def pause(self, rule: str, by: str) -> None:
        """Of one rule, or of all with ""."""
        self.note(f"{_PAUSED}{rule}", clean(by) or "")

    def resume(self, rule: str) -> bool:
        """False where it was not paused."""
        with self._database.writing() as connection:
            gone = delete(STATE).where(STATE.c.name == f"{_PAUSED}{rule}")
            return connection.execute(gone).rowcount > 0

    def pauses(self) -> list[Pause]:
        query = select(STATE).where(STATE.c.name.startswith(_PAUSED)).order_by(STATE.c.name)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return [
            Pause(rule=row.name.removeprefix(_PAUSED), by=row.value, since=instant(row.at))
            for row in found
        ]


def now(connection: Connection) -> int:
    """By the server's clock where there is a server: hosts' clocks differ."""
    if connection.dialect.name == "postgresql":
        query = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        return int(connection.execute(query).scalar_one())
    return int(time.time() * 1e6)
