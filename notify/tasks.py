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
    on_taken: Callable[[Envelope, str, int | None], None] = lambda *_: None,
) -> Task:
    """Registers the task with ``deliver`` behind it.

    ``on_taken`` is told of each message, the exchange through which it came, and when it was
    published (epoch seconds), where its publisher says so.

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
        info = self.request.delivery_info
        on_taken(envelope, str(info.get("exchange")), _published(self.request.properties))
        try:
            return deliver(envelope, bool(info.get("redelivered")))
        except HandBack as reason:
            log.warning("handed back", extra=event(id=envelope.notification.id, why=str(reason)))
            raise Reject("handed back", requeue=True) from reason
        except Exception as error:
            # Celery would log its message, which may quote the notification.
            trace = safe_traceback(error)
            log.error("delivery is broken", extra=event(id=envelope.notification.id, error=trace))
            raise Reject("broken", requeue=False) from error

    return notify_deliver


def _published(properties: Mapping[str, Any] | None) -> int | None:
    at = (properties or {}).get("timestamp")
    return None if at is None else int(at.timestamp() if hasattr(at, "timestamp") else at)
