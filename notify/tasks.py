"""The one Celery task: ``notify.deliver``."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from celery import Celery, Task
from celery.exceptions import Reject

from notify.errors import MessageError
from notify.message import TASK, Envelope, decode
from notify.steps import HandBack
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)


def register(
    app: Celery,
    deliver: Callable[[Envelope, bool], str],
    on_taken: Callable[[int], None] = lambda published: None,
) -> Task:
    """Registers the task with ``deliver`` behind it.

    ``on_taken`` is told when each message was published, in epoch seconds.

    What it returns is acknowledged. A message that is no notification goes to the archive
    as it is, through the queue's dead-letter exchange; what ``deliver`` hands back goes back
    to its queue.
    """

    @app.task(name=TASK, bind=True, Request="notify.worker.request:Request")
    def notify_deliver(self: Task, *_: Any, **keywords: Any) -> str:
        headers = self.request.headers
        try:
            envelope = decode(
                headers if isinstance(headers, Mapping) else {}, keywords.get("notification")
            )
        except MessageError as error:
            log.warning("message refused", extra=event(problem=str(error)))
            raise Reject("is not a notification", requeue=False) from error
        published = (self.request.properties or {}).get("timestamp")
        if published is not None:
            on_taken(int(published.timestamp() if hasattr(published, "timestamp") else published))
        try:
            return deliver(envelope, bool(self.request.delivery_info.get("redelivered")))
        except HandBack as reason:
            log.warning("handed back", extra=event(id=envelope.notification.id, why=str(reason)))
            raise Reject("handed back", requeue=True) from reason
        except Exception as error:
            # Celery would log its message, which may quote the notification.
            trace = safe_traceback(error)
            log.error("delivery is broken", extra=event(id=envelope.notification.id, error=trace))
            raise Reject("broken", requeue=False) from error

    return notify_deliver
