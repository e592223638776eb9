"""The one Celery task: ``notify.deliver``."""

import logging
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from celery import Celery, Task
from celery.exceptions import Reject

from notify.errors import MessageError
from notify.message import TASK, Envelope, decode
from notify.steps import HandBack
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)


class Verdict(Enum):
    """What RabbitMQ is told of a message."""

    DONE = "acknowledged"
    REFUSED = "rejected, for the archive"
    HANDED_BACK = "rejected, back to its queue"


class Work:
    """What is done with each message, whether Celery brings it or a thread takes it.

    ``on_taken`` is told of each message, the exchange through which it came, and when it was
    published (epoch seconds), where its publisher says so.

    What ``deliver`` returns is acknowledged. A message that is no notification goes to the
    archive as it is, through the queue's dead-letter exchange; what ``deliver`` hands back goes
    back to its queue.
    """

    def __init__(
        self,
        deliver: Callable[[Envelope, bool], str],
        on_taken: Callable[[Envelope, str, int | None], None] = lambda *_: None,
    ) -> None:
        self._deliver = deliver
        self._on_taken = on_taken

    def do(
        self,
        headers: Any,
        notification: Any,
        info: Mapping[str, Any],
        properties: Mapping[str, Any] | None,
    ) -> tuple[Verdict, str]:
        """The verdict, and what was done or why not; that never quotes the notification."""
        try:
            envelope = decode(headers if isinstance(headers, Mapping) else {}, notification)
        except MessageError as error:
            log.warning("message refused", extra=event(problem=str(error)))
            return Verdict.REFUSED, "is not a notification"
        self._on_taken(envelope, str(info.get("exchange")), _published(properties))
        try:
            return Verdict.DONE, self._deliver(envelope, bool(info.get("redelivered")))
        except HandBack as reason:
            log.warning("handed back", extra=event(id=envelope.notification.id, why=str(reason)))
            return Verdict.HANDED_BACK, "handed back"
        except Exception as error:
            # Its message may quote the notification.
            trace = safe_traceback(error)
            log.error("delivery is broken", extra=event(id=envelope.notification.id, error=trace))
            return Verdict.REFUSED, "broken"


def register(app: Celery, work: Work) -> Task:
    """Registers the task, for the messages that Celery brings."""

    @app.task(name=TASK, bind=True, Request="notify.worker.request:Request")
    def notify_deliver(self: Task, *_: Any, **keywords: Any) -> str:
        request = self.request
        verdict, said = work.do(
            request.headers, keywords.get("notification"), request.delivery_info, request.properties
        )
        if verdict is not Verdict.DONE:
            raise Reject(said, requeue=verdict is Verdict.HANDED_BACK)
        return said

    return notify_deliver


def _published(properties: Mapping[str, Any] | None) -> int | None:
    at = (properties or {}).get("timestamp")
    return None if at is None else int(at.timestamp() if hasattr(at, "timestamp") else at)
