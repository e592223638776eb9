"""A schedule as a row of the database, and as a row makes it again."""

from datetime import datetime
from typing import Final

from notify.errors import InvalidInput
from notify.schedule.spec import ScheduleSpec
from notify.store.schedulerows import StoredSchedule

_KINDS: Final = ("cron", "every", "at")


def to_row(spec: ScheduleSpec, actor: str, now: datetime, *, source: str = "") -> StoredSchedule:
    """As it is written by ``actor``; it fires for nothing that was planned until ``now``."""
    return StoredSchedule(
        name=spec.name,
        spec=spec.evolve(paused=False).to_dict(),
        revision=spec.revision,
        kind=next(kind for kind in _KINDS if getattr(spec.recurrence, kind) is not None),
        channel=spec.content.get("channel"),
        origin=spec.origin,
        source=source,
        paused=spec.paused,
        since=now,
        created_at=now,
        created_by=actor,
        changed_at=now,
        changed_by=actor,
    )


def from_row(row: StoredSchedule) -> ScheduleSpec:
    """Raises ``InvalidInput`` for what another version of Notify wrote."""
    try:
        return ScheduleSpec.from_dict(row.spec).evolve(paused=row.paused)
    except InvalidInput as error:
        raise InvalidInput(f"{row.name}: {error}") from error
