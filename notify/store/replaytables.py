"""The tables of replays: the runs, and their letters."""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, column

from notify.store.schema import METADATA

_TAKEN: Final = column("generation").is_not(None)

REPLAY_RUNS: Final = Table(
    "replay_runs",
    METADATA,
    Column("name", String(96), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    # What people are shown: the filter and the changes, masked.
    Column("wanted", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("edits", Text, nullable=False),
    # A corrected recipient or text, until the run is over.
    Column("content", Text),
    Index("replay_runs_at", "at"),
)

# Which generation of an id a letter becomes is said once, whoever replays it: that is the index.
REPLAY_LETTERS: Final = Table(
    "replay_letters",
    METADATA,
    Column("run", String(96), ForeignKey("replay_runs.name"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    # The letter may be purged later.
    Column("dead_seq", BigInteger, nullable=False),
    Column("id", String(128)),
    Column("generation", Integer),
    Column("result", String(32)),
    Column("other", String(96)),
    Column("note", Text, nullable=False),
    Column("at", BigInteger),
    Index("replay_letters_dead_seq", "dead_seq"),
    Index(
        "replay_letters_taken",
        "id",
        "generation",
        unique=True,
        sqlite_where=_TAKEN,
        postgresql_where=_TAKEN,
    ),
)
