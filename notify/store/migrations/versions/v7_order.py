"""In PostgreSQL, what is searched for is ordered by its bytes, as it is in SQLite.

Rules of a language cost each comparison in each index, and nobody reads ids in that order. The
indexes are built again, which takes half a minute for a million letters; the tables are not.
"""

import sqlalchemy as sa
from alembic import op

revision = "7"
down_revision = "6"

_ORDER = "C"
_LETTERS = {
    "identity": sa.String(64, collation=_ORDER),
    "id": sa.String(128, collation=_ORDER),
    "recipient_key": sa.String(32, collation=_ORDER),
    "state": sa.String(16, collation=_ORDER),
    **{
        name: sa.Text(collation=_ORDER)
        for name in ("channel", "reason", "provider", "code", "template", "batch", "schedule")
    },
}
_LABELS = {
    "name": sa.String(64, collation=_ORDER),
    "value": sa.String(256, collation=_ORDER),
}


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    for table, columns in (("dead_letters", _LETTERS), ("dead_labels", _LABELS)):
        # In one statement, so that no index is built twice.
        changes = ", ".join(
            f"ALTER COLUMN {name} TYPE {kind.compile(connection.dialect)}"
            for name, kind in columns.items()
        )
        op.execute(f"ALTER TABLE {table} {changes}")
