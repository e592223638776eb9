"""Notify: a notification pipeline on RabbitMQ quorum queues.

from notify import Client, Notification, load_settings

with Client(load_settings()) as client:
    client.send(Notification(channel="sms", recipient="+491701234567", body="Hello"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from notify.attaching import attach
    from notify.attachments import Attachment
    from notify.batch import run_batch
    from notify.config import Settings, load_settings
    from notify.errors import (
        BrokerBlocked,
        BrokerUnavailable,
        ConfigError,
        InvalidNotification,
        NotifyError,
        PublishError,
        QueueFull,
        Unavailable,
        Unconfirmed,
        Unroutable,
        UsageError,
    )
    from notify.notification import Notification
    from notify.publish import Client, Sent
    from notify.schedule.client import Schedules
    from notify.templates import Templates

__all__ = [
    "Attachment",
    "BrokerBlocked",
    "BrokerUnavailable",
    "Client",
    "ConfigError",
    "InvalidNotification",
    "Notification",
    "NotifyError",
    "PublishError",
    "QueueFull",
    "Schedules",
    "Sent",
    "Settings",
    "Templates",
    "Unavailable",
    "Unconfirmed",
    "Unroutable",
    "UsageError",
    "attach",
    "load_settings",
    "run_batch",
]

# Imported when first used: the sandbox and others of our programs need no broker client.
_HOMES: Final = {
    "Attachment": "notify.attachments",
    "attach": "notify.attaching",
    "Client": "notify.publish",
    "Notification": "notify.notification",
    "Schedules": "notify.schedule.client",
    "Sent": "notify.publish",
    "Settings": "notify.config",
    "Templates": "notify.templates",
    "load_settings": "notify.config",
    "run_batch": "notify.batch",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES.get(name, "notify.errors")), name)
