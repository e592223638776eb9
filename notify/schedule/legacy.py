"""Entries that RedBeat itself has stored, as an earlier version of Notify had them, as schedules.

Their kinds are an interval that counts from the last run, a cron expression in UTC, and an instant;
their payload is one notification as text. The watermark becomes the last run, so that what was due
when the version changed is still fired, and by the same id.
"""

import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from celery import Celery
from celery.schedules import crontab, schedule
from redbeat.schedules import rrule

from notify.errors import NotifyError
from notify.notification import Notification
from notify.recurrence import Misfire, Recurrence, parse_recurrence
from notify.schedule.entries import Unusable, decode
from notify.schedule.making import Made, make
from notify.schedule.shelf import Shelf, Written
from notify.schedule.spec import Audience, ScheduleSpec
from notify.schedule.stored import Put
from notify.telemetry import event

log = logging.getLogger(__name__)

_SOME: Final = 500
_FIELDS: Final = (
    *("channel", "priority", "subject", "body", "html", "data", "unsubscribe", "attachments"),
)


def migrate(shelf: Shelf, app: Celery) -> int:
    """Takes over all entries that RedBeat itself has stored, once; how many that were.

    One that cannot be taken over is set aside when it is due.
    """
    if shelf.has_form():
        return 0
    count, cursor = 0, 0
    while True:
        cursor, names = shelf.scan(cursor, _SOME)
        rows = shelf.read(names, scores=True)
        old = [written for written in rows if written is not None and written.v == "0"]
        count += len(old) - len(adopt_all(old, shelf, app))
        if cursor == 0:
            break
    shelf.note_form()
    return count


def adopt_all(old: Iterable[Written], shelf: Shelf, app: Celery) -> dict[str, str]:
    """Puts ours in their place; names with why that is not possible."""
    problems = {}
    for written in old:
        try:
            made = adopt(written, datetime.now(UTC), app)
        except NotifyError as error:
            problems[written.name] = str(error)
        else:
            shelf.put(made.written, expected="0", score=made.score)
    return problems


def adopt(written: Written, now: datetime, app: Celery) -> Made:
    """The same as an entry of ours. Raises ``Unusable``, and ``InvalidInput``."""
    definition = decode(written.definition)
    meta = decode(written.meta) if written.meta else {}
    last = meta.get("last_run_at")
    # One that never ran is due from now on. By whole seconds, as the ids were.
    until = (last if isinstance(last, datetime) else now).astimezone(UTC).replace(microsecond=0)
    try:
        made = Notification.from_dict(json.loads(definition["kwargs"]["notification"]))
        recurrence = _recurrence(written.name, definition["schedule"], until)
    except NotifyError as error:
        raise Unusable(str(error)) from error
    except Exception as error:
        raise Unusable(f"cannot be read: {type(error).__name__}") from error
    spec = ScheduleSpec(
        name=written.name,
        recurrence=recurrence,
        audience=Audience(recipient=made.recipient),
        content=_content(made),
        misfire=Misfire(),
        paused=definition.get("enabled") is False,
    )
    ours = make(Put(spec=spec, watermark=until), None, now, app)
    return replace(ours, written=replace(ours.written, meta=written.meta))


def _content(made: Notification) -> dict[str, Any]:
    values = made.to_dict()
    content = {field: values[field] for field in _FIELDS if field in values}
    return content | ({"labels": dict(made.labels)} if made.labels else {})


def _recurrence(name: str, kind: Any, last: datetime) -> Recurrence:
    if isinstance(kind, rrule):
        if kind.count != 1:
            raise Unusable("is a recurrence rule, which cannot be taken over")
        return Recurrence(at=kind.dtstart.astimezone(UTC))
    if isinstance(kind, crontab):
        return parse_recurrence({"cron": _cron(kind)})
    if isinstance(kind, schedule):
        seconds = kind.run_every.total_seconds()
        every = max(1, round(seconds))
        if every != seconds:
            log.warning("interval rounded", extra=event(schedule=name, was=seconds, every=every))
        return Recurrence(every=every, start=last)
    raise Unusable("is of a kind that is not known")


def _cron(kind: crontab) -> str:
    days, weekdays = str(kind._orig_day_of_month), str(kind._orig_day_of_week)
    if not days.startswith("*") and not weekdays.startswith("*"):
        # There both must fit, in a cron expression one is enough.
        raise Unusable("has a day of the month and a weekday, which now mean either, not both")
    fields = (kind._orig_minute, kind._orig_hour, days, kind._orig_month_of_year, weekdays)
    return " ".join(str(each).replace(" ", "") for each in fields)
