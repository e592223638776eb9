"""Schedules as rows of the database, and back. Times are microseconds since 1970."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text, column

from notify.store.rows import clean, instant, micros
from notify.store.schema import METADATA

# In the order of its characters, wherever it is: a page ends at a name, and a prefix is a range.
NAME: Final = String(160).with_variant(String(160, collation="C"), "postgresql")
_gone = column("deleted_at").is_not(None)

SCHEDULES: Final = Table(
    "schedules",
    METADATA,
    Column("name", NAME, primary_key=True),
    Column("spec", Text, nullable=False),
    Column("revision", String(64), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("channel", String(16)),
    Column("origin", String(16), nullable=False),
    Column("source", Text, nullable=False),
    Column("paused", Integer, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("change", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("deleted_at", BigInteger),
    Column("ending", String(16), nullable=False),
    Index("schedules_change", "change", "name"),
    Index("schedules_deleted_at", "deleted_at", sqlite_where=_gone, postgresql_where=_gone),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSchedule:
    """A schedule as it was stored.

    ``kind`` is "cron", "every" or "at"; ``channel`` None where an audience names its own.
    ``source`` is the file that a schedule of origin "file" is from. It fires for nothing that
    was planned before ``since``. ``ending`` is empty while it lives, "removed", or what became
    of a one-shot; then ``spec`` is empty.
    """

    name: str
    spec: Mapping[str, Any] = field(default_factory=dict, repr=False)
    revision: str
    kind: str
    channel: str | None = None
    origin: str = "command"
    source: str = ""
    paused: bool = False
    since: datetime
    change: int = 0
    created_at: datetime
    created_by: str = ""
    changed_at: datetime
    changed_by: str = ""
    deleted_at: datetime | None = None
    ending: str = ""

    @property
    def lives(self) -> bool:
        return self.deleted_at is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which schedules are meant; a value of None does not matter."""

    prefix: str = ""
    origin: str | None = None
    channel: str | None = None
    paused: bool | None = None
    kind: str | None = None


_TIMES: Final = ("since", "created_at", "changed_at", "deleted_at")
_AS_THEY_ARE: Final = ("name", "revision", "kind", "channel", "origin", "source", "change")


def to_row(schedule: StoredSchedule) -> dict[str, Any]:
    row = {name: getattr(schedule, name) for name in (*_AS_THEY_ARE, "ending")}
    row |= {name: micros(getattr(schedule, name)) for name in _TIMES}
    row |= {name: clean(getattr(schedule, name)) for name in ("created_by", "changed_by")}
    spec = json.dumps(dict(schedule.spec), separators=(",", ":"))
    return row | {"spec": spec, "paused": int(schedule.paused)}


def from_row(row: Mapping[str, Any]) -> StoredSchedule:
    values = dict(row) | {name: instant(row[name]) for name in _TIMES}
    return StoredSchedule(
        **values | {"spec": json.loads(row["spec"]), "paused": bool(row["paused"])}
    )
