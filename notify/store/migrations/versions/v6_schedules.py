"""Schedules, and what became of each of their planned instants."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "6"
down_revision = "5"

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_NAME = sa.String(160).with_variant(sa.String(160, collation="C"), "postgresql")


def upgrade() -> None:
    _create_schedules()
    _create_occurrences()
    meta = sa.table("meta", sa.column("name"), sa.column("value"))
    # Which database this is, among those that a Redis may meet; the number of the last change;
    # and how often somebody looked whether Redis has all.
    numbers = {"schedules_identity": secrets.randbits(62), "schedules_change": 0}
    numbers["schedules_pulse"] = 0
    rows = [{"name": name, "value": value} for name, value in numbers.items()]
    op.get_bind().execute(sa.insert(meta), rows)


def _create_schedules() -> None:
    op.create_table(
        "schedules",
        sa.Column("name", _NAME, primary_key=True),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("channel", sa.String(16)),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("paused", sa.Integer, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("change", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
        sa.Column("changed_by", sa.Text, nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("ending", sa.String(16), nullable=False),
    )
    op.create_index("schedules_change", "schedules", ["change", "name"])
    gone = sa.column("deleted_at").is_not(None)
    op.create_index(
        "schedules_deleted_at",
        "schedules",
        ["deleted_at"],
        sqlite_where=gone,
        postgresql_where=gone,
    )


def _create_occurrences() -> None:
    op.create_table(
        "occurrences",
        sa.Column("seq", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("schedule", _NAME, nullable=False),
        sa.Column("planned", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("actual", sa.BigInteger, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    columns = ["schedule", "planned", "outcome"]
    op.create_index("occurrences_one", "occurrences", columns, unique=True)
    op.create_index("occurrences_actual", "occurrences", ["actual"])
