"""Schedules: stored in Redis by RedBeat, fired by ``notify beat``."""

from notify.schedule.book import BY_NAME, SOONEST, Book
from notify.schedule.fanout import Fanout
from notify.schedule.spec import ScheduleSpec, parse_spec
from notify.schedule.stored import ACTIVE, ASLEEP, ENDED, QUARANTINED, Page, Put, Stored

__all__ = [
    "ACTIVE",
    "ASLEEP",
    "BY_NAME",
    "ENDED",
    "QUARANTINED",
    "SOONEST",
    "Book",
    "Fanout",
    "Page",
    "Put",
    "ScheduleSpec",
    "Stored",
    "parse_spec",
]
