"""Celery's pool: threads of our own, which keep the broker connection alive while it stops."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from celery.concurrency.base import BasePool, apply_target

from notify.telemetry import event
from notify.worker.crew import Crew, Work
from notify.worker.width import Width

log = logging.getLogger(__name__)


class Pool(BasePool):
    """A thread pool.

    Celery waits for its threads with the event loop at rest: no acknowledgement and no
    heartbeat leaves, and the broker hands the messages of sends that outlast two heartbeats
    to another worker.
    """

    body_can_be_buffer = True
    signal_safe = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._hub: Any = None
        self._width = Width(self.limit)
        self._looking = False
        self.crew = Crew(self._width.value, self._wake)
        self.on_left: Callable[[Sequence[Work]], None] = lambda _: None
        """Told what waited for a thread, and will not be done, when it stops."""
        self.on_drained: Callable[[], None] = lambda: None
        """Called when the last thread has ended."""

    def register_with_event_loop(self, hub: Any) -> None:
        self._hub = hub
        self._looking = False

    def put(self, work: Work) -> bool:
        """Whether a thread has it at once; else it waits for one."""
        if self.crew.put(work):
            return True
        if self._hub is not None and not self._looking:
            self._width.begin(self.crew.numbers)
            self._look_later()
        return False

    def _look_later(self) -> None:
        self._looking = True
        self._hub.call_later(self._width.next_look, self._look)

    def _look(self) -> None:
        """Lets more threads work, or fewer, while work waits for them."""
        self._looking = False
        if self.crew.waiting:
            self.crew.widen(self._width.look(self.crew.numbers))
            self._look_later()

    def flush(self) -> None:
        """What waits for a thread comes again: the connection that brought it is lost."""
        self.crew.forget()

    def on_apply(
        self,
        target: Any,
        args: Any = None,
        kwargs: Any = None,
        callback: Any = None,
        accept_callback: Any = None,
        **_: Any,
    ) -> None:
        """For what Celery handles by itself."""
        self.put(lambda _: apply_target(target, args, kwargs, callback, accept_callback))

    def on_stop(self) -> None:
        self.on_left(self.crew.stop())
        try:
            while self._hub is not None and self.crew.threads:
                self._hub.run_once()
        except Exception as error:
            log.warning("connection lost while stopping", extra=event(error=repr(type(error))))
        self.crew.wait()
        self.on_drained()

    def _wake(self) -> None:
        if self._hub is not None:
            self._hub.call_soon(_nothing)

    def _get_info(self) -> dict[str, Any]:
        return {**super()._get_info(), "threads": self.crew.threads}


def _nothing() -> None:
    pass
