"""The tables of automatic care, and of erasures. Times are microseconds since 1970 in UTC."""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text

from notify.store.schema import METADATA, SERIAL

# What a rule does about a letter; it goes when the letter goes.
CASES: Final = Table(
    "care_cases",
    METADATA,
    Column(
        "dead_seq", SERIAL, ForeignKey("dead_letters.seq", ondelete="CASCADE"), primary_key=True
    ),
    Column("rule", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Index("care_cases_due_at", "state", "due_at"),
    Index("care_cases_changed_at", "changed_at"),
)

# Who leads, until when; how far letters were looked at; what is paused, by whom.
STATE: Final = Table(
    "care_state",
    METADATA,
    Column("name", String(96), primary_key=True),
    Column("value", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

# A digest is written down before it is published: whoever publishes it again publishes the same.
DIGESTS: Final = Table(
    "care_digests",
    METADATA,
    Column("name", String(32), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Column("published_at", BigInteger),
)

# That somebody was erased, and when, without who it was: ``proof`` tells it to who can name them.
ERASURES: Final = Table(
    "erasures",
    METADATA,
    Column("seq", SERIAL, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("proof", String(64), nullable=False),
    Column("letters", Integer, nullable=False),
    Column("details", Text, nullable=False),
    Index("erasures_proof", "proof"),
    sqlite_autoincrement=True,
)
