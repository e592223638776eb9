"""Schedules, what became of them, and what differs, as people and programs are shown them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from notify.recurrence import preview
from notify.schedule.spec import Change, ScheduleSpec, shown
from notify.schedule.stored import Stored
from notify.store.occurrences import Occurrence
from notify.store.schedulerows import StoredSchedule
from notify.telemetry import mask

_NEXT = 3
_TICK = timedelta(microseconds=1)


def audience(spec: ScheduleSpec, *, reveal: bool = False) -> str:
    """Who gets it: a recipient masked, or where the recipients are from."""
    who = spec.audience
    if who.recipient is not None:
        return who.recipient if reveal else mask(who.recipient)
    return f"file {who.file}" if who.file is not None else f"python {who.python}"


def list_facts(stored: Stored, *, reveal: bool = False) -> dict[str, Any]:
    """One line of a list; ``next`` is on the clock of its zone."""
    spec = stored.spec
    if spec is None:
        return {"name": stored.name, "state": stored.state, "problem": stored.reason}
    where = spec.recurrence.where
    return {
        "name": stored.name,
        "state": stored.state,
        "when": spec.recurrence.describe(),
        "next": None if stored.next_at is None else local(stored.next_at.astimezone(where)),
        "next_at": stored.next_at,
        "zone": spec.recurrence.zone,
        "channel": spec.content.get("channel"),
        "recipient": audience(spec, reveal=reveal),
        "origin": spec.origin,
        "problem": stored.reason or stored.trouble,
    }


def show_facts(
    stored: Stored, row: StoredSchedule | None, history: list[Occurrence], *, reveal: bool
) -> dict[str, Any]:
    """All that is known of one."""
    facts = list_facts(stored, reveal=reveal)
    spec = stored.spec
    if spec is not None:
        del facts["next"], facts["next_at"]
        facts["remarks"] = list(spec.recurrence.remarks())
        facts["misfire"] = spec.misfire.describe()
        facts["next"] = _next(stored, spec)
        facts["watermark"] = stored.watermark
        facts["last_fired"], facts["fired"] = stored.last_at, stored.runs
        facts["definition"] = shown(spec, reveal=reveal)
    if row is not None:
        facts |= {"created_at": row.created_at, "created_by": row.created_by}
        facts |= {"changed_at": row.changed_at, "changed_by": row.changed_by}
        facts["source"] = row.source
    facts["history"] = [history_facts(each) for each in history]
    return facts


def _next(stored: Stored, spec: ScheduleSpec) -> list[dict[str, Any]]:
    if stored.next_at is None:
        return []
    return preview_facts(spec, stored.next_at - _TICK, _NEXT)


def preview_facts(spec: ScheduleSpec, after: datetime, count: int) -> list[dict[str, Any]]:
    return [
        {"planned": each.planned, "local": each.local, "due": each.due, "note": each.note}
        for each in preview(spec.recurrence, after, count, spec.delay)
    ]


def history_facts(occurrence: Occurrence) -> dict[str, Any]:
    return {
        "planned": occurrence.planned,
        "actual": occurrence.actual,
        "lag_s": round(occurrence.lag.total_seconds(), 3),
        "outcome": occurrence.outcome,
        "count": occurrence.count,
        "ref": occurrence.ref,
        "note": occurrence.note,
    }


def changed_lines(changes: Iterable[Change]) -> Iterator[str]:
    """One for each key that differs."""
    for key, old, new in changes:
        if old is None:
            yield f"  + {key}: {new}"
        elif new is None:
            yield f"  - {key}: {old}"
        elif old == new:
            # The same when it is masked, or told by its length.
            yield f"  ~ {key}: {new} (changed)"
        else:
            yield f"  ~ {key}: {old} -> {new}"


def local(instant: datetime) -> str:
    return instant.isoformat(sep=" ", timespec="seconds")


def utc(instant: datetime | None) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if instant else ""
