"""What Celery is shown of the messages that go past it: its account, and its events."""

from typing import Any

from celery.worker import state

from notify.message import TASK
from notify.tasks import Verdict
from notify.worker.light import Light


class Showing:
    """For the thread of the event loop only, where Celery looks at the same account."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def received(self, request: Light) -> None:
        state.task_reserved(request)
        if self._heard():
            headers = request.message.headers
            self._send(
                "task-received",
                request,
                name=TASK,
                args="()",
                kwargs=request.kwargsrepr,
                root_id=_text(headers.get("root_id")),
                parent_id=_text(headers.get("parent_id")),
                retries=0,
                eta=None,
                expires=None,
            )

    def begun(self, request: Light) -> None:
        state.task_accepted(request)
        if self._heard():
            self._send("task-started", request)

    def settled(self, request: Light, verdict: Verdict, said: str) -> None:
        self.dropped(request)
        if not self._heard():
            return
        if verdict is Verdict.DONE:
            self._send("task-succeeded", request, result=repr(said), runtime=request.runtime)
            return
        requeue = verdict is Verdict.HANDED_BACK
        if not requeue:
            self._send("task-failed", request, exception=said, traceback="")
        self._send("task-rejected", request, requeue=requeue)

    def dropped(self, request: Light) -> None:
        """It is no longer the worker's, or Celery takes it over."""
        state.task_ready(request)

    def _heard(self) -> bool:
        """Whether somebody has asked for the events of tasks."""
        events = self._consumer.event_dispatcher
        return bool(events and events.enabled and (not events.groups or "task" in events.groups))

    def _send(self, kind: str, request: Light, **fields: Any) -> None:
        self._consumer.event_dispatcher.send(kind, uuid=request.id, **fields)


def _text(value: Any) -> str | None:
    """Celery keeps an event that it cannot encode, with all that were to be sent along."""
    return value if isinstance(value, str) else None
