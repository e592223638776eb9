"""Stops consuming while nothing could be sent, and starts again when something could."""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from notify.routing import Opening
from notify.telemetry import event

log = logging.getLogger(__name__)

_LOOK_EVERY: Final = 1.0
# The event loop is never busy for so long; after it the message goes back all the same.
_CLOSING_TAKES: Final = 5.0


class Gate:
    """Between the queue and the threads. ``close`` may be called from any thread.

    ``look`` says how far it may be open, and why not further; it raises while that cannot
    be known. On trial it is open for one message: a message that is taken and cannot be sent
    goes back to its queue, and RabbitMQ counts that against its delivery limit.
    """

    def __init__(
        self, queue: str, look: Callable[[], tuple[Opening, str]], stopping: threading.Event
    ) -> None:
        self._queue = queue
        self._look = look
        self._stopping = stopping
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._closings = 0
        self._on_trial = False
        self._trying = False
        self._reason = ""
        self.consumer: Any = None

    @property
    def reason(self) -> str:
        """Why nothing is consumed, or one message at most; empty while the gate is open."""
        return self._reason

    def close(self, reason: str) -> None:
        """Cancels the consumer; returns when it is cancelled, so that nothing comes back."""
        with self._lock:
            if not self._reason:
                self._reason = reason
                self._closings += 1
                log.warning("paused", extra=event(queue=self._queue, why=reason))
                self.consumer.call_soon(self._cancel)
                which = (self._closings,)
                threading.Thread(target=self._reopen_later, args=which, daemon=True).start()
        if not self._closed.wait(_CLOSING_TAKES):
            self.consumer.call_soon(self._cancel)

    def enter(self) -> bool:
        """A message is about to be handled; tells whether it is the one of a trial.

        The gate closes behind that one, and there is no other trial until ``leave``.
        """
        # What is consumed for a trial comes after the flag: for the others there is no lock.
        if not self._on_trial:
            return False
        with self._lock:
            trying, self._on_trial = self._on_trial, False
            self._trying = self._trying or trying
            if trying:
                self.consumer.call_soon(self._cancel)
        if trying:
            self._closed.wait(_CLOSING_TAKES)
        return trying

    def leave(self, trying: bool) -> None:
        """It has been handled; ``trying`` is what ``enter`` said of it."""
        if trying:
            self._trying = False

    def _cancel(self) -> None:
        if not self._reason:
            # The loop comes to what it was told in any order: it is open again already.
            return
        try:
            if self.consumer.task_consumer is not None:
                self.consumer.cancel_task_queue(self._queue)
        finally:
            self._closed.set()

    def _reopen_later(self, closing: int) -> None:
        """Until the gate is open: the loop loses what it was told when a connection is lost."""
        while not self._stopping.wait(_LOOK_EVERY) and self._is_closed(closing):
            try:
                opening, why = self._look()
            except Exception as error:
                log.debug("still paused", extra=event(why=type(error).__name__))
                continue
            if opening is Opening.OPEN:
                self.consumer.call_soon(self._open, closing)
                continue
            self._keep_closed(closing, why)
            self._set_trial(opening is Opening.TRIAL)

    def _is_closed(self, closing: int) -> bool:
        """Whether it is closed, and has been ever since that closing."""
        return bool(self._reason) and self._closings == closing

    def _keep_closed(self, closing: int, why: str) -> None:
        with self._lock:
            if self._is_closed(closing):
                self._reason = why

    def _set_trial(self, wanted: bool) -> None:
        with self._lock:
            if wanted and not self._trying:
                self._on_trial = True
                self.consumer.call_soon(self._try)
            elif self._on_trial and not wanted:
                self._on_trial = False
                self.consumer.call_soon(self._cancel)

    def _try(self) -> None:
        """Consumes for a trial, unless it does."""
        consuming = self.consumer.task_consumer
        if self._on_trial and not (consuming and consuming.consuming_from(self._queue)):
            self._consume(1)

    def _open(self, closing: int) -> None:
        with self._lock:
            if not self._is_closed(closing):
                return
            self._on_trial = False
            self._reason = ""
        self._consume(self.consumer.qos.value if self.consumer.qos else 0)
        log.info("resumed", extra=event(queue=self._queue))

    def _consume(self, most: int) -> None:
        """Takes at most so many messages at once; RabbitMQ fixes that when consuming begins."""
        self._closed.clear()
        consumer, queues = self.consumer, self.consumer.app.amqp.queues
        if consumer.task_consumer is None:
            # Between two connections: the next one consumes what is selected.
            queues.select_add(queues[self._queue])
            return
        try:
            if consumer.task_consumer.consuming_from(self._queue):
                consumer.cancel_task_queue(self._queue)
        finally:
            # Where the connection is lost just now, the next one consumes it.
            queues.select_add(queues[self._queue])
        consumer.task_consumer.qos(prefetch_count=most)
        consumer.add_task_queue(self._queue)
