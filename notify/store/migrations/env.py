"""Run by Alembic, inside the transaction that ``notify.store.migrating`` has begun."""

from alembic import context

from notify.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
)
with context.begin_transaction():
    context.run_migrations()
