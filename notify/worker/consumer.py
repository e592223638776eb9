"""Celery's consumer: no delay machinery, and messages that are not ours are archived raw.

A plain notification does not go through Celery's hands: see ``notify.worker.intake``.
"""

import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from celery.worker.consumer.consumer import Consumer as CeleryConsumer

from notify.telemetry import event
from notify.worker.intake import Intake

log = logging.getLogger(__name__)

_DELAY_STEP = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


class Consumer(CeleryConsumer):
    """The consumer of one queue.

    Celery logs the body of a message it cannot use, and acknowledges one it cannot decode.
    Here it is dead-lettered as it is and the log says only what kind of problem it was.
    """

    class Blueprint(CeleryConsumer.Blueprint):
        """Without delayed delivery: 28 queues, and a set-up against every broker in turn."""

        default_steps = tuple(
            step for step in CeleryConsumer.Blueprint.default_steps if step != _DELAY_STEP
        )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        gate = getattr(self.app, "notify_gate", None)
        if gate is not None:
            gate.consumer = self
        work = getattr(self.app, "notify_work", None)
        self.intake = Intake(self, work) if work is not None else None
        if self.intake is not None:
            self.pool.on_left = self.intake.hand_back
            self.pool.on_drained = self.intake.settle

    def ensure_connected(self, conn: Any) -> Any:
        """Tries again every three seconds at most, where Celery would wait up to thirty."""
        conn.ensure_connection = partial(
            conn.ensure_connection, interval_start=1, interval_step=1, interval_max=3
        )
        return super().ensure_connected(conn)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Closes at once what nobody answers any more; Celery would say good-bye first."""
        self.cut_connections()
        super().on_connection_error_after_connected(exc)

    def cut_connections(self) -> None:
        """Shuts down the sockets to the broker, so that a half-open connection is noticed."""
        for owner in (self, self.event_dispatcher):
            connection: Any = getattr(owner, "connection", None)
            with suppress(OSError, AttributeError):
                connection.connection.transport.sock.shutdown(socket.SHUT_RDWR)

    def create_task_handler(self, *arguments: Any, **options: Any) -> Callable[[Any], Any]:
        guarded = self._guarded(super().create_task_handler(*arguments, **options))
        if self.intake is None:
            return guarded
        self.intake.begin(guarded)
        take = self.intake.take

        def plain_first(message: Any) -> None:
            if not take(message):
                guarded(message)

        return plain_first

    def _guarded(self, handle: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def guarded(message: Any) -> Any:
            try:
                return handle(message)
            except self.connection_errors:
                raise
            except Exception as error:
                # A forged message can make Celery raise anything; the loop must go on.
                return self._refuse(message, type(error).__name__)

        return guarded

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        self._refuse(message, "body cannot be decoded")

    def on_unknown_message(self, body: Any, message: Any) -> None:
        self._refuse(message, "is not a task message")

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        self._refuse(message, "task is unknown")

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        self._refuse(message, "task message is invalid")

    def _refuse(self, message: Any, problem: str) -> None:
        log.warning("message refused", extra=event(problem=problem))
        if not message.acknowledged:
            message.reject_log_error(log, self.connection_errors)
