"""What a heartbeat is."""

from datetime import UTC, datetime, timedelta
from typing import Final

from notify.message import HEARTBEAT_ID, Envelope
from notify.notification import Notification
from notify.recipients import NULL_RECIPIENTS

# How long the ledger remembers one: until whoever published it has seen what became of it.
KEPT: Final = 600.0


def heartbeat(channel: str, priority: str, now: datetime, every: float) -> Envelope:
    """The one of this queue for the stretch of ``every`` seconds that ``now`` is in.

    It has the same id and content whoever publishes it, and is worth nothing after that long.
    """
    slot = int(now.timestamp() / every)
    notification = Notification(
        channel=channel,
        recipient=NULL_RECIPIENTS[channel],
        id=f"{HEARTBEAT_ID}{channel}-{priority}:{every:.0f}-{slot}",
        priority=priority,
        subject="heartbeat" if channel == "email" else None,
        body="heartbeat",
        expires_at=now.astimezone(UTC) + timedelta(seconds=every),
        created_at=now,
    )
    return Envelope(notification=notification, first_queued=now, heartbeat=True)
