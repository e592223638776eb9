"""What a notification costs in the unit of a limit. Pure."""

from notify.notification import Notification
from notify.segments import count


def cost(notification: Notification, unit: str) -> int:
    """1 for ``messages``, else its SMS segments or the bytes of its content."""
    if unit == "segments":
        return count(notification.body or "").segments
    if unit == "bytes":
        return notification.size + sum(each.size for each in notification.attachments)
    return 1
