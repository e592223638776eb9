"""What is known of one that was to be sent at an instant, for whoever asks for its id."""

from contextlib import suppress
from typing import Any

from notify.errors import InvalidInput, NotFound
from notify.schedule.rowing import from_row
from notify.schedule.spec import ONCE
from notify.schedule.stored import ACTIVE, Stored
from notify.schedule.truth import Truth
from notify.store.schedulerows import StoredSchedule
from notify.store.schedules import REMOVED

SCHEDULED = "scheduled"
CANCELLED = "cancelled"
MISSING = "missing"


def waiting(truth: Truth, id: str) -> dict[str, Any] | None:
    """Its ``state``, the instant ``at``, and ``problem``; None for an id that was not sent so.

    ``state`` is "scheduled", "paused", "quarantined" or "missing" (in Redis) while it waits, then
    "cancelled", "fired", "skipped", "missed" or "failed". Raises what ``Truth`` raises.
    """
    row, stored = truth.row(id), None
    with suppress(NotFound):
        stored = truth.book.get(id)
    if row is not None and not row.lives:
        return _over(truth, row)
    lost = _lost(row)
    found = stored or lost
    # What Redis cannot read any more, the database still can.
    spec = next((each.spec for each in (stored, lost) if each and each.spec), None)
    if found is None or spec is None or spec.origin != ONCE:
        return None
    return {
        "state": SCHEDULED if found.state == ACTIVE else found.state,
        "at": spec.recurrence.at,
        "problem": found.reason or found.trouble,
    }


def look_up(truth: Truth, name: str) -> Stored:
    """A schedule, also one that is over, or that Redis does not have. Raises ``NotFound``."""
    try:
        return truth.book.get(name)
    except NotFound:
        row = truth.row(name)
        found = _lost(row)
        if found is not None:
            return found
        if row is None:
            raise
        return Stored(name=name, state=row.ending)


def _lost(row: StoredSchedule | None) -> Stored | None:
    if row is None or not row.lives:
        return None
    why = "Redis does not have it: a beat restores it, or notify schedule restore"
    try:
        return Stored(name=row.name, state=MISSING, spec=from_row(row), reason=why)
    except InvalidInput as error:
        return Stored(name=row.name, state=MISSING, reason=str(error))


def _over(truth: Truth, row: StoredSchedule) -> dict[str, Any] | None:
    if row.origin != ONCE:
        return None
    last = next(iter(truth.history.of(row.name, limit=1)), None)
    return {
        "state": CANCELLED if row.ending == REMOVED else row.ending,
        "at": None if last is None else last.planned,
        "problem": "" if last is None else last.note,
    }
