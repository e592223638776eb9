"""What rules do about dead letters, the daily digests, and who was erased."""

import sqlalchemy as sa
from alembic import op

revision = "5"
down_revision = "4"

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_cases()
    op.create_table(
        "care_state",
        sa.Column("name", sa.String(96), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    _create_digests()
    _create_erasures()


def _create_cases() -> None:
    letter = sa.ForeignKey("dead_letters.seq", ondelete="CASCADE")
    op.create_table(
        "care_cases",
        sa.Column("dead_seq", _SERIAL, letter, primary_key=True),
        sa.Column("rule", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )
    op.create_index("care_cases_due_at", "care_cases", ["state", "due_at"])
    op.create_index("care_cases_changed_at", "care_cases", ["changed_at"])


def _create_digests() -> None:
    op.create_table(
        "care_digests",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("published_at", sa.BigInteger),
    )


def _create_erasures() -> None:
    op.create_table(
        "erasures",
        sa.Column("seq", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("proof", sa.String(64), nullable=False),
        sa.Column("letters", sa.Integer, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("erasures_proof", "erasures", ["proof"])
