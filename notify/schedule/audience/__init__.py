"""Firings for many: what is noted of one, its rows, and who sends them."""

from notify.schedule.audience.order import FanOrder, batch_name, is_firing
from notify.schedule.audience.rows import GeneratedRows, PeopleFile
from notify.schedule.audience.spool import Spool, spool_directory

__all__ = [
    "FanOrder",
    "GeneratedRows",
    "PeopleFile",
    "Spool",
    "batch_name",
    "is_firing",
    "spool_directory",
]
