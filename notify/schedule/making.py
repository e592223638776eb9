"""What is to be written for a schedule that is new or changed."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from celery import Celery

from notify.errors import InvalidInput
from notify.schedule.entries import (
    Entry,
    Unusable,
    due,
    encode_definition,
    encode_meta,
)
from notify.schedule.instants import listed, to_micros
from notify.schedule.shelf import OVER, Step, Written
from notify.schedule.spec import ScheduleSpec
from notify.schedule.stored import Put

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,127}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """An entry, and when it is due."""

    written: Written
    score: float


def make(put: Put, old: Written | None, now: datetime, app: Celery) -> Made:
    """Raises ``InvalidInput`` for a bad name, and where nothing would ever be fired."""
    spec = put.spec if put.paused is None else put.spec.evolve(paused=put.paused)
    # RedBeat's own keys share the prefix with the names: none of those is a valid name.
    if not _NAME.fullmatch(spec.name):
        raise InvalidInput("name: must be 1 to 128 letters, digits, '_', ':' or '-'")
    before = readable(old, app)
    watermark, owed = _carried(spec, before, now)
    if put.watermark is not None:
        watermark = max(put.watermark, before.watermark) if before else put.watermark
    written = Written(
        name=spec.name,
        definition=encode_definition(spec),
        meta=old.meta if before and old else "",
        w=str(to_micros(watermark)),
        o=listed(owed),
        r=put.revision or spec.revision,
    )
    entry = Entry(app, spec, written)
    if not spec.paused and entry.next_at is None:
        raise InvalidInput("nothing would ever be fired: nothing is planned from now on")
    return Made(written=written, score=now.timestamp() if owed else entry.score)


def readable(written: Written | None, app: Celery) -> Entry | None:
    """None where there is nothing, or nothing that can be used."""
    try:
        return None if written is None else Entry.read(written, app)
    except Unusable:
        return None


def _carried(
    spec: ScheduleSpec, before: Entry | None, now: datetime
) -> tuple[datetime, tuple[datetime, ...]]:
    """The watermark of a changed schedule, and what it still owes."""
    if before is None or before.spec.paused or spec.paused:
        return now, ()
    if before.spec.recurrence == spec.recurrence:
        return before.watermark, before.owed
    return now, before.work(now).fire


def by_hand(entry: Entry, planned: datetime) -> Step:
    """What is fired by hand moves the watermark, however far ahead it is."""
    following = entry.spec.recurrence.next_after(planned)
    score: float | None = entry.written.score
    if following is not None and not entry.spec.paused:
        score = due(entry.spec, following).timestamp()
    elif following is None:
        score = None if entry.spec.recurrence.at is not None else OVER
    return Step(
        name=entry.name,
        version=entry.written.v,
        was=entry.written.w,
        watermark=to_micros(planned),
        score=score,
        meta=encode_meta(planned, entry.total_run_count + 1),
        through=to_micros(planned),
    )
