"""The worker as a program: signals, remote control, and what is not on offer there."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from celery.apps.worker import Worker, install_cry_handler
from celery.worker import state
from celery.worker.control import Panel

from notify.worker.link import Link
from notify.worker.mailbox import Control

# What changes a worker belongs to systemd and the configuration. A revoked notification
# would be acknowledged unsent; a cancelled consumer would be idle and look healthy.
_REFUSED: Final = (
    "add_consumer",
    "autoscale",
    "cancel_consumer",
    "pool_grow",
    "pool_restart",
    "pool_shrink",
    "rate_limit",
    "revoke",
    "revoke_by_stamped_headers",
    "shutdown",
    "terminate",
    "time_limit",
)


class Program(Worker):
    """Stops on SIGTERM and SIGINT: what is in flight is finished, the rest handed back."""

    on_stop_signal: Callable[[], None] = staticmethod(lambda: None)

    def on_before_init(self, **options: Any) -> None:
        self.app.control_cls = Control
        self.app.amqp.Connection = Link
        super().on_before_init(**options)

    def install_platform_tweaks(self, worker: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop_soon)
        install_cry_handler()
        for name in _REFUSED:
            Panel.data.pop(name, None)

    def _stop_soon(self, number: int, frame: FrameType | None) -> None:
        state.should_stop = 0
        self.on_stop_signal()
