"""Heartbeats: notifications that go all the way but to a provider, so that silence is a fault.

One is published to every queue each minute. The worker asks the limits for a turn, claims the
heartbeat, gives the turn back unused and settles it; who published it finds that in the ledger.
None is ever sent, counted as a notification or against a limit, or archived.
"""

from notify.heartbeat.sending import Pulse
from notify.heartbeat.taking import Heartbeats

__all__ = ["Heartbeats", "Pulse"]
