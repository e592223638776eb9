"""``notify drill``: break things on purpose while notifications flow, then count."""

from notify.drill.outage import LETTERS, REPLAY_RATE, OutagePlan
from notify.drill.outage import NAME as OUTAGE_REPLAY
from notify.drill.outageplay import run_outage_drill
from notify.drill.plan import DRILLS, LONGEST_OUTAGE, OUTAGE, RATE, Kind, Plan
from notify.drill.run import run_drill

__all__ = [
    "DRILLS",
    "LETTERS",
    "LONGEST_OUTAGE",
    "OUTAGE",
    "OUTAGE_REPLAY",
    "RATE",
    "REPLAY_RATE",
    "Kind",
    "OutagePlan",
    "Plan",
    "run_drill",
    "run_outage_drill",
]
