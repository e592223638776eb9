"""The first schema: dead letters and their replays."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_INDEXES = (
    ("dead_letters_id", ("id",)),
    ("dead_letters_dead_at", ("dead_at",)),
    ("dead_letters_channel", ("channel", "dead_at")),
    ("dead_letters_reason", ("reason", "dead_at")),
    ("dead_letters_recipient", ("recipient",)),
)


def upgrade() -> None:
    meta = op.create_table(
        "meta",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    _create_letters()
    _create_replays()
    op.bulk_insert(meta, [{"name": "schema", "value": 1}])


def _create_letters() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("seq", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("identity", sa.String(64), nullable=False, unique=True),
        sa.Column("id", sa.String(128)),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text),
        sa.Column("channel", sa.Text),
        sa.Column("priority", sa.Text),
        sa.Column("recipient", sa.Text),
        sa.Column("provider", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("notification", sa.Text),
        sa.Column("attempts", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("headers", sa.Text, nullable=False),
        sa.Column("raw", sa.LargeBinary),
        sa.Column("trace", sa.Text),
        sa.Column("first_queued", sa.BigInteger),
        sa.Column("dead_at", sa.BigInteger, nullable=False),
        sa.Column("archived_at", sa.BigInteger, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sqlite_autoincrement=True,
    )
    for name, columns in _INDEXES:
        op.create_index(name, "dead_letters", list(columns))


def _create_replays() -> None:
    op.create_table(
        "replays",
        sa.Column("seq", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("dead_seq", _SERIAL, sa.ForeignKey("dead_letters.seq"), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("from_generation", sa.Integer, nullable=False),
        sa.Column("new_generation", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("replays_dead_seq", "replays", ["dead_seq"])
