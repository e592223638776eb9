"""The batches of schedules' firings, which come by themselves and are forgotten by themselves."""

from datetime import datetime
from typing import Final

from sqlalchemy import delete, select

from notify.store.batches import (
    BATCH_FAILURES,
    BATCHES,
    CANCELLED,
    FINISHED,
    WITH_FAILURES,
    Batches,
)
from notify.store.rows import micros

KIND: Final = "schedule"
# How the source of such a batch begins, as it is stored.
_SOURCE: Final = f'{{"kind": "{KIND}"'
_OVER: Final = (CANCELLED, FINISHED, WITH_FAILURES)


class FiringBatches(Batches):
    """Batches among which those of firings are told from others."""

    def forget(self, before: datetime, most: int = 1000) -> int:
        """Forgets firings that were over before that, ``most`` of them; how many these were."""
        columns = BATCHES.c
        old = select(columns.name).where(
            columns.changed_at < micros(before),
            columns.state.in_(_OVER),
            columns.source.startswith(_SOURCE, autoescape=True),
        )
        with self._database.writing() as connection:
            names = list(connection.scalars(old.order_by(columns.name).limit(most)))
            connection.execute(delete(BATCH_FAILURES).where(BATCH_FAILURES.c.batch.in_(names)))
            connection.execute(delete(BATCHES).where(columns.name.in_(names)))
        return len(names)
