"""What a schedule is: when, for whom, and what; read, kept, compared, and fired."""

from notify.schedule.spec.audience import Function, load_audience
from notify.schedule.spec.making import (
    depends_on_actual,
    notification,
    notification_id,
    row_defaults,
    stamped,
)
from notify.schedule.spec.reading import NAME, parse_spec
from notify.schedule.spec.showing import Change, diff, shown
from notify.schedule.spec.value import COMMAND, FILE, ONCE, Audience, ScheduleSpec

__all__ = [
    "COMMAND",
    "FILE",
    "NAME",
    "ONCE",
    "Audience",
    "Change",
    "Function",
    "ScheduleSpec",
    "depends_on_actual",
    "diff",
    "load_audience",
    "notification",
    "notification_id",
    "parse_spec",
    "row_defaults",
    "shown",
    "stamped",
]
