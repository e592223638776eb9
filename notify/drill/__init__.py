"""``notify drill``: break things on purpose while notifications flow, then count."""

from notify.drill.plan import DRILLS, LONGEST_OUTAGE, OUTAGE, RATE, Kind, Plan
from notify.drill.run import run_drill

__all__ = ["DRILLS", "LONGEST_OUTAGE", "OUTAGE", "RATE", "Kind", "Plan", "run_drill"]
