"""When something recurs, in local time: cron, intervals and single instants. Pure.

Says when, never does: the clock, where one is needed, is an argument.
"""

from notify.recurrence.misfire import ON_TIME, Misfire, parse_misfire
from notify.recurrence.occurrences import jitter, occurrence_id
from notify.recurrence.planning import Plan, Skipped, plan
from notify.recurrence.previews import Preview, preview
from notify.recurrence.reading import KEYS, parse_recurrence, shown_key
from notify.recurrence.value import Recurrence

__all__ = [
    "KEYS",
    "ON_TIME",
    "Misfire",
    "Plan",
    "Preview",
    "Recurrence",
    "Skipped",
    "jitter",
    "occurrence_id",
    "parse_misfire",
    "parse_recurrence",
    "plan",
    "preview",
    "shown_key",
]
