"""What is said about the schedules in Redis, as values."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from notify.schedule.entries import Entry
from notify.schedule.shelf import OVER, PAUSED, Written
from notify.schedule.spec import ScheduleSpec

ACTIVE: Final = "active"
ASLEEP: Final = "paused"
ENDED: Final = "ended"
QUARANTINED: Final = "quarantined"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """A schedule as it is in Redis.

    ``spec`` is None where it cannot be read; then ``state`` is "quarantined", or will be when it is
    due. ``next_at`` is the next planned instant, ``due_at`` when that may be fired. Everything
    planned up to ``watermark`` is over. ``trouble`` says why it could not be fired when it was
    last tried, ``reason`` why it is in quarantine. ``revision`` is what the writer gave.
    """

    name: str
    state: str
    spec: ScheduleSpec | None = field(default=None, repr=False)
    next_at: datetime | None = None
    due_at: datetime | None = None
    watermark: datetime | None = None
    last_at: datetime | None = None
    runs: int = 0
    trouble: str = ""
    reason: str = ""
    revision: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Some schedules, and where to go on; ``cursor`` is empty at the end."""

    items: tuple[Stored, ...]
    cursor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """What a schedule's writer called it when it was stored; cheap to read for all of them."""

    name: str
    revision: str
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Quarantined:
    """A schedule that was set aside."""

    name: str
    since: datetime
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """One of many to store: see ``Book.put``."""

    spec: ScheduleSpec
    watermark: datetime | None = None
    paused: bool | None = None
    revision: str = ""


def stored(name: str, written: Written | None, entry: Entry | None, reason: str = "") -> Stored:
    """What is said of an entry that was read; without ``entry`` where it cannot be used."""
    state = state_of(written)
    if entry is None or written is None:
        return Stored(name=name, state=state, reason=reason)
    return Stored(
        name=name,
        state=state,
        spec=entry.spec,
        next_at=entry.next_at if state == ACTIVE else None,
        due_at=entry.due_at if state == ACTIVE else None,
        watermark=entry.watermark,
        last_at=entry.last_at,
        runs=entry.total_run_count,
        trouble=written.x,
        reason=reason,
        revision=written.r,
    )


def state_of(written: Written | None) -> str:
    """What is not there, or has no time at which it is due, cannot be used."""
    if written is None or written.score is None:
        return QUARANTINED
    return {PAUSED: ASLEEP, OVER: ENDED}.get(written.score, ACTIVE)
