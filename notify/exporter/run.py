"""The exporter's life."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from notify import provision
from notify.config import Settings
from notify.errors import LedgerUnavailable
from notify.exporter.sampling import Sampler
from notify.heartbeat import Pulse
from notify.metrics import ExporterMetrics
from notify.publishcount import open_publisher
from notify.reloading import Reloader
from notify.systemd import tell_ready, tell_status, tell_stopping
from notify.telemetry import event, set_up_logging

log = logging.getLogger(__name__)

_LOOKING: Final = "looking at RabbitMQ and Redis"
_SECTIONS: Final = ("broker", "channels", "log", "metrics", "redis")


def run_exporter(settings: Settings) -> int:
    """Looks and publishes heartbeats until SIGTERM or SIGINT; returns the exit code.

    Servers that are away are what it is there to tell: it starts and goes on without them.
    """
    set_up_logging(settings.log.level, settings.log.format)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Reloader(settings, sections=_SECTIONS, then=lambda note: tell_ready(note or _LOOKING)).watch()
    metrics = ExporterMetrics()
    with (
        closing(provision.management(settings)) as api,
        closing(provision.ledger(settings)) as ledger,
        closing(open_publisher(settings, metrics)) as publisher,
    ):
        sampler = Sampler(settings, api, ledger, metrics)
        every = settings.metrics.heartbeat_every
        pulse = Pulse(settings.queues(), publisher, ledger, metrics, every=every)
        metrics.serve(settings, "exporter")
        log.info("ready", extra=event(what="exporter"))
        tell_ready(_LOOKING)
        watch(settings, sampler, pulse, stop)
    tell_stopping("stopping")
    log.info("stopped", extra=event(what="exporter"))
    return 0


def watch(
    settings: Settings,
    sampler: Sampler,
    pulse: Pulse,
    stop: threading.Event,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Looks every ``metrics.look_every``, and publishes when it is time for it."""
    numbers = settings.metrics
    due = clock()
    while not stop.is_set():
        consumers = sampler.look()
        try:
            pulse.look()
            if numbers.heartbeats and clock() >= due:
                due = clock() + numbers.heartbeat_every
                pulse.beat(consumers)
        except LedgerUnavailable:
            pass  # the sampler has said it
        tell_status(_LOOKING, alive=True)
        stop.wait(numbers.look_every)
