"""Replays of many letters: the runs, and what became of each of their letters."""

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    op.create_table(
        "replay_runs",
        sa.Column("name", sa.String(96), primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("wanted", sa.Text, nullable=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("edits", sa.Text, nullable=False),
        sa.Column("content", sa.Text),
    )
    op.create_index("replay_runs_at", "replay_runs", ["at"])
    op.create_table(
        "replay_letters",
        sa.Column("run", sa.String(96), sa.ForeignKey("replay_runs.name"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("dead_seq", sa.BigInteger, nullable=False),
        sa.Column("id", sa.String(128)),
        sa.Column("generation", sa.Integer),
        sa.Column("result", sa.String(32)),
        sa.Column("other", sa.String(96)),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger),
    )
    op.create_index("replay_letters_dead_seq", "replay_letters", ["dead_seq"])
    taken = sa.column("generation").is_not(None)
    op.create_index(
        "replay_letters_taken",
        "replay_letters",
        ["id", "generation"],
        unique=True,
        sqlite_where=taken,
        postgresql_where=taken,
    )
