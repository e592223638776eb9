"""A message on its way past Celery's machinery.

``celery inspect``, Flower and the shutdown know a request by what ``celery.worker.state``
holds, and by events: ``notify.worker.showing``.
"""

import json
import os
from typing import Any, Final

from notify.message import CONTENT_TYPE, ID, TASK
from notify.worker.request import EMBED, shown

# With one of these a message asks Celery for more than to be delivered.
_MORE: Final = ("eta", "expires", "shadow", "compression", "stamped_headers")


class Light:
    """The request of one message."""

    __slots__ = (
        "__weakref__",
        "_hostname",
        "acknowledged",
        "eventer",
        "id",
        "message",
        "runtime",
        "time_start",
    )

    name = TASK

    def __init__(self, message: Any, hostname: str) -> None:
        self.message = message
        self.id: str = message.headers["id"]
        self.acknowledged = False
        self.eventer: Any = None
        self.time_start: float | None = None
        self.runtime = 0.0
        self._hostname = hostname

    @property
    def kwargsrepr(self) -> str:
        return shown(self.message.headers.get(ID))

    def info(self, safe: bool = False) -> dict[str, Any]:
        """What ``celery inspect`` shows: never the notification."""
        delivery = self.message.delivery_info
        return {
            "id": self.id,
            "name": TASK,
            "args": "()",
            "kwargs": self.kwargsrepr,
            "type": TASK,
            "hostname": self._hostname,
            "time_start": self.time_start,
            "acknowledged": self.acknowledged,
            "delivery_info": {
                "exchange": delivery.get("exchange"),
                "routing_key": delivery.get("routing_key"),
                "priority": self.message.properties.get("priority"),
                "redelivered": delivery.get("redelivered", False),
            },
            "worker_pid": os.getpid() if self.time_start else None,
        }

    def __repr__(self) -> str:
        return f"<Light: {TASK}[{self.id}]>"


def is_plain(message: Any) -> bool:
    """Whether it is nothing but a task message of ours, as far as can be seen outside."""
    headers = message.headers
    return (
        headers.get("task") == TASK
        and isinstance(headers.get("id"), str)
        and message.content_type == CONTENT_TYPE
        and message.content_encoding == "utf-8"
        and not message.errors
        and not any(map(headers.get, _MORE))
    )


def read(body: str | bytes) -> dict[str, Any] | None:
    """The notification in a task message that holds nothing else; else nothing.

    py-amqp has decoded the body where it could.
    """
    if not isinstance(body, str):
        return None
    try:
        args, keywords, embed = json.loads(body)
        notification = keywords.pop("notification")
        follows = any(embed.values()) or not embed.keys() <= EMBED
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if args != [] or keywords or follows or not isinstance(notification, dict):
        return None
    return notification
