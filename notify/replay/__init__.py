"""Dead letters are sent again: each once, under a new generation of its id.

    with open_desk(settings) as desk:
        order = Order(wanted=Filter(reason="provider_outage"), actor="care: outage", rate=50)
        plan = plan_replay(desk, order)         # counts; changes nothing
        done = run_replay(desk, order)          # begins a run and runs it to its end
        done = resume_replay(desk, name)        # goes on with one that was killed or paused

A run is a batch too: ``notify batch`` lists, pauses and cancels it. ``run_replay`` raises
``NotFound`` where nothing matches, ``UsageError`` for a wrong order, and ``Unavailable`` or
``PublishError`` when it could not go on for long; then ``resume_replay`` does.
"""

from notify.replay.desk import Desk, open_desk
from notify.replay.planning import plan_replay
from notify.replay.running import cancel_replay, is_replay, resume_replay, run_replay
from notify.replay.values import OWN, WORDS, Edits, Finished, Order, Plan, Why

__all__ = [
    "OWN",
    "WORDS",
    "Desk",
    "Edits",
    "Finished",
    "Order",
    "Plan",
    "Why",
    "cancel_replay",
    "is_replay",
    "open_desk",
    "plan_replay",
    "resume_replay",
    "run_replay",
]
