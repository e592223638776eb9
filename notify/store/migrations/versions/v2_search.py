"""What is searched for has columns, a table of labels, and indexes.

Letters that are there already are read once, a thousand at a time. All is one transaction: a
migration that is killed has not begun.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from notify.store.facets import facets, label_pairs

revision = "2"
down_revision = "1"

_BATCH = 1000
_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_NEW: dict[str, Any] = {
    "code": sa.Text,
    "template": sa.Text,
    "batch": sa.Text,
    "schedule": sa.Text,
    "recipient_key": sa.String(32),
    "words": sa.Text,
}
_READ = ("seq", "id", "channel", "recipient", "detail", "notification", "attempts", "labels")
_JSON = ("notification", "attempts", "labels")
_OFTEN_NULL = ("code", "template", "batch", "schedule")


def upgrade() -> None:
    op.drop_index("dead_letters_recipient", "dead_letters")
    for name, kind in _NEW.items():
        op.add_column("dead_letters", sa.Column(name, kind))
    _create_tables()
    connection = op.get_bind()
    for found in _batches(connection):
        _fill(connection, found)
    _create_indexes()
    connection.execute(sa.text("UPDATE meta SET value = 2 WHERE name = 'schema'"))


def _create_tables() -> None:
    op.create_table(
        "dead_labels",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(256), primary_key=True),
        sa.Column("dead_at", sa.BigInteger, primary_key=True),
        sa.Column("dead_seq", _SERIAL, sa.ForeignKey("dead_letters.seq"), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reveals",
        sa.Column("seq", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("letters", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )


def _batches(connection: sa.Connection) -> Iterator[Sequence[sa.RowMapping]]:
    letters = _table("dead_letters", (*_READ, "dead_at"))
    query = sa.select(*letters.c).order_by(letters.c.seq).limit(_BATCH)
    last = 0
    while True:
        found = connection.execute(query.where(letters.c.seq > last)).mappings().all()
        if not found:
            return
        yield found
        last = found[-1]["seq"]


def _fill(connection: sa.Connection, found: Sequence[sa.RowMapping]) -> None:
    changes, labels = [], []
    for row in found:
        known = {name: row[name] for name in _READ}
        known |= {name: row[name] and json.loads(row[name]) for name in _JSON}
        seq = known.pop("seq")
        values = facets(**known)
        changes.append({name: values[name] for name in _NEW} | {"at_seq": seq})
        labels += [
            {"name": name, "value": value, "dead_at": row["dead_at"], "dead_seq": seq}
            for name, value in label_pairs(known["labels"])
        ]
    change = sa.update(_table("dead_letters", ("seq", *_NEW)))
    change = change.where(sa.column("seq") == sa.bindparam("at_seq"))
    connection.execute(change.values({name: sa.bindparam(name) for name in _NEW}), changes)
    if labels:
        table = _table("dead_labels", ("name", "value", "dead_at", "dead_seq"))
        connection.execute(sa.insert(table), labels)


def _table(name: str, columns: Sequence[str]) -> sa.TableClause:
    """As it is at this step, whatever becomes of it later."""
    return sa.table(name, *map(sa.column, columns))


def _create_indexes() -> None:
    op.create_index("dead_letters_channel_reason", "dead_letters", ["channel", "reason", "dead_at"])
    for name in ("provider", "recipient_key", "state"):
        op.create_index(f"dead_letters_{name}", "dead_letters", [name, "dead_at"])
    for name in _OFTEN_NULL:
        there = sa.column(name).is_not(None)
        op.create_index(
            f"dead_letters_{name}",
            "dead_letters",
            [name, "dead_at"],
            sqlite_where=there,
            postgresql_where=there,
        )
    op.create_index("dead_labels_dead_seq", "dead_labels", ["dead_seq"])
