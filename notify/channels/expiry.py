"""How long a gateway should go on trying: a text that comes too late is worse than none."""

from notify.notification import Notification


def seconds_left(notification: Notification, now: float, longest: float) -> int | None:
    """Whole seconds until it expires, at least 1 and at most ``longest``; None if it never
    does. ``now`` is in seconds since the epoch."""
    if notification.expires_at is None:
        return None
    left = notification.expires_at.timestamp() - now
    return int(max(1.0, min(left, longest)))
