"""The tables, in what every SQL database understands.

Times are microseconds since 1970 in UTC; structured values are JSON in ASCII.
"""

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
)

VERSION: Final = 1

METADATA: Final = MetaData()
# SQLite numbers rows only in a column that is declared INTEGER.
_Serial: Final = BigInteger().with_variant(Integer, "sqlite")

META: Final = Table(
    "meta",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

DEAD_LETTERS: Final = Table(
    "dead_letters",
    METADATA,
    Column("seq", _Serial, primary_key=True, autoincrement=True),
    Column("identity", String(64), nullable=False, unique=True),
    Column("id", String(128)),
    Column("generation", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("digest", Text),
    Column("channel", Text),
    Column("priority", Text),
    Column("recipient", Text),
    Column("provider", Text),
    Column("reason", Text, nullable=False),
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
    Column("state", String(16), nullable=False),
    Index("dead_letters_id", "id"),
    Index("dead_letters_dead_at", "dead_at"),
    Index("dead_letters_channel", "channel", "dead_at"),
    Index("dead_letters_reason", "reason", "dead_at"),
    Index("dead_letters_recipient", "recipient"),
    sqlite_autoincrement=True,
)

REPLAYS: Final = Table(
    "replays",
    METADATA,
    Column("seq", _Serial, primary_key=True, autoincrement=True),
    Column("dead_seq", _Serial, ForeignKey("dead_letters.seq"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("from_generation", Integer, nullable=False),
    Column("new_generation", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("note", Text, nullable=False),
    Index("replays_dead_seq", "dead_seq"),
    sqlite_autoincrement=True,
)
