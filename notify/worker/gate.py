"""Stops consuming while nothing could be sent, and starts again when something could."""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from notify.telemetry import event

log = logging.getLogger(__name__)

_PROBE_EVERY: Final = 1.0
# The event loop is never busy for so long; after it the message goes back all the same.
_CLOSING_TAKES: Final = 5.0


class Gate:
    """Between the queue and the threads. ``close`` may be called from any thread."""

    def __init__(self, queue: str, probe: Callable[[], object], stopping: threading.Event) -> None:
        self._queue = queue
        self._probe = probe
        self._stopping = stopping
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._reason = ""
        self.consumer: Any = None

    @property
    def reason(self) -> str:
        """Why nothing is consumed; empty while the gate is open."""
        return self._reason

    def close(self, reason: str) -> None:
        """Cancels the consumer; returns when it is cancelled, so that nothing comes back."""
        with self._lock:
            if not self._reason:
                self._reason = reason
                log.warning("paused", extra=event(queue=self._queue, why=reason))
                self.consumer.call_soon(self._cancel)
                threading.Thread(target=self._reopen_later, daemon=True).start()
        self._closed.wait(_CLOSING_TAKES)

    def _cancel(self) -> None:
        try:
            if self.consumer.task_consumer is not None:
                self.consumer.cancel_task_queue(self._queue)
        finally:
            self._closed.set()

    def _reopen_later(self) -> None:
        while not self._stopping.wait(_PROBE_EVERY):
            try:
                self._probe()
            except Exception as error:
                log.debug("still paused", extra=event(why=type(error).__name__))
                continue
            self.consumer.call_soon(self._open)
            return

    def _open(self) -> None:
        self._closed.clear()
        self._reason = ""
        self.consumer.app.amqp.queues.select_add(self.consumer.app.amqp.queues[self._queue])
        if self.consumer.task_consumer is not None:
            self.consumer.add_task_queue(self._queue)
        log.info("resumed", extra=event(queue=self._queue))
