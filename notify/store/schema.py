"""The tables, in what every SQL database understands.

Times are microseconds since 1970 in UTC; structured values are JSON in ASCII.
"""

import re
from importlib.resources import files
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    column,
)

_MIGRATION: Final = re.compile(r"v([0-9]+)_[a-z0-9_]+\.py")


def _newest() -> int:
    """The number of the last migration; they are numbered from 1 without a gap."""
    folder = files("notify").joinpath("store", "migrations", "versions")
    found = {
        int(match[1]) for each in folder.iterdir() if (match := _MIGRATION.fullmatch(each.name))
    }
    return next(number for number in range(len(found) + 1) if number + 1 not in found)


# What the newest of the migrations makes: the tables of ``METADATA``, see ``tables``.
VERSION: Final = _newest()

METADATA: Final = MetaData()
# SQLite numbers rows only in a column that is declared INTEGER.
SERIAL: Final = BigInteger().with_variant(Integer, "sqlite")


def _searched(length: int | None = None) -> String:
    """Ordered by bytes in every database, whatever language the database speaks."""
    kind = Text if length is None else String
    return kind(length).with_variant(kind(length, collation="C"), "postgresql")


def _sparse_index(name: str) -> Index:
    """Costs nothing for letters without the value."""
    there = column(name).is_not(None)
    return Index(
        f"dead_letters_{name}", name, "dead_at", sqlite_where=there, postgresql_where=there
    )


META: Final = Table(
    "meta",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

DEAD_LETTERS: Final = Table(
    "dead_letters",
    METADATA,
    Column("seq", SERIAL, primary_key=True, autoincrement=True),
    Column("identity", _searched(64), nullable=False, unique=True),
    Column("id", _searched(128)),
    Column("generation", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("digest", Text),
    Column("channel", _searched()),
    Column("priority", Text),
    Column("recipient", Text),
    Column("provider", _searched()),
    Column("reason", _searched(), nullable=False),
    Column("detail", Text, nullable=False),
    Column("notification", Text),
    Column("attempts", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("headers", Text, nullable=False),
    Column("raw", LargeBinary),
    Column("trace", Text),
    Column("first_queued", BigInteger),
    Column("dead_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
    Column("state", _searched(16), nullable=False),
    # From here on: what is searched for, see ``facets``.
    Column("code", _searched()),
    Column("template", _searched()),
    Column("batch", _searched()),
    Column("schedule", _searched()),
    Column("recipient_key", _searched(32)),
    Column("words", Text),
    Index("dead_letters_id", "id"),
    Index("dead_letters_dead_at", "dead_at"),
    Index("dead_letters_channel", "channel", "dead_at"),
    Index("dead_letters_reason", "reason", "dead_at"),
    Index("dead_letters_channel_reason", "channel", "reason", "dead_at"),
    Index("dead_letters_provider", "provider", "dead_at"),
    Index("dead_letters_recipient_key", "recipient_key", "dead_at"),
    Index("dead_letters_state", "state", "dead_at"),
    *(_sparse_index(name) for name in ("code", "template", "batch", "schedule")),
    sqlite_autoincrement=True,
)

# A label knows when its letter died, so that a list by label needs no sorting.
LABELS: Final = Table(
    "dead_labels",
    METADATA,
    Column("name", _searched(64), primary_key=True),
    Column("value", _searched(256), primary_key=True),
    Column("dead_at", BigInteger, primary_key=True),
    Column("dead_seq", SERIAL, ForeignKey("dead_letters.seq"), primary_key=True),
    Index("dead_labels_dead_seq", "dead_seq"),
    sqlite_with_rowid=False,
)

REPLAYS: Final = Table(
    "replays",
    METADATA,
    Column("seq", SERIAL, primary_key=True, autoincrement=True),
    Column("dead_seq", SERIAL, ForeignKey("dead_letters.seq"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("from_generation", Integer, nullable=False),
    Column("new_generation", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("note", Text, nullable=False),
    Index("replays_dead_seq", "dead_seq"),
    sqlite_autoincrement=True,
)

# Who looked at personal data.
REVEALS: Final = Table(
    "reveals",
    METADATA,
    Column("seq", SERIAL, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("letters", Integer, nullable=False),
    sqlite_autoincrement=True,
)
