"""Batches. Their tables may be there: programs of before created them apart from the rest."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    there = sa.inspect(op.get_bind()).get_table_names()
    if "batches" not in there:
        _create_batches()
    if "batch_failures" not in there:
        _create_failures()


def _create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("name", sa.String(96), primary_key=True),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("rate", sa.Double, nullable=False),
        sa.Column("total", sa.BigInteger),
        sa.Column("cursor", sa.BigInteger, nullable=False),
        sa.Column("published", sa.Text, nullable=False),
        sa.Column("rejected", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("repeats", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("beat_at", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_index("batches_created_at", "batches", ["created_at"])


def _create_failures() -> None:
    op.create_table(
        "batch_failures",
        sa.Column("batch", sa.String(96), sa.ForeignKey("batches.name"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("id", sa.String(128), nullable=False),
        sa.Column("error", sa.Text, nullable=False),
    )
