"""Schedules: stored in Redis by RedBeat, fired by ``notify beat``."""

from notify.schedule.beat import run_beat
from notify.schedule.entries import Planned, Schedules
from notify.schedule.timing import Timing, parse_timing

__all__ = ["Planned", "Schedules", "Timing", "parse_timing", "run_beat"]
