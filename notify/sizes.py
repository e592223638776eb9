"""How large a notification may be."""

from notify.errors import InvalidNotification
from notify.notification import Notification


def check_size(notification: Notification, limit: int) -> None:
    """Raises ``InvalidNotification`` when the JSON form has more than ``limit`` bytes."""
    if notification.size_at_most <= limit:
        return
    size = notification.size
    if size > limit:
        raise InvalidNotification(
            "notification", f"has {size} bytes, {notification.channel} takes at most {limit}"
        )
