"""``notify drill``: break things on purpose while notifications flow, then count."""

from notify.drill.plan import DRILLS, Plan
from notify.drill.run import run_drill

__all__ = ["DRILLS", "Plan", "run_drill"]
