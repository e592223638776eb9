"""Celery's thread pool, which keeps the broker connection alive while it stops."""

import logging
import threading

from celery.concurrency.thread import TaskPool
from kombu.asynchronous import get_event_loop

from notify.telemetry import event

log = logging.getLogger(__name__)


class Pool(TaskPool):
    """A thread pool.

    Celery waits for the threads with its event loop at rest: no acknowledgement and no
    heartbeat leaves, and the broker hands the messages of sends that outlast two heartbeats
    to another worker.
    """

    def on_stop(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        for thread in list(self.executor._threads):
            _turn_loop_until_ended(thread)
        super().on_stop()


def _turn_loop_until_ended(thread: threading.Thread) -> None:
    hub = get_event_loop()
    while hub is not None and thread.is_alive():
        try:
            hub.run_once()
        except Exception as error:
            log.warning("connection lost while stopping", extra=event(error=repr(type(error))))
            thread.join()
