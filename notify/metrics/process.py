"""What every process shows: which version and configuration it runs, its memory, its publishes."""

import hashlib
import json
import logging
import time
from importlib.metadata import version
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    ProcessCollector,
    start_http_server,
)

from notify.config import Settings
from notify.telemetry import event

log = logging.getLogger(__name__)

PUBLISHED: Final = (
    *("confirmed", "unroutable", "refused", "blocked", "unconfirmed", "unavailable", "failed"),
)


class OwnProcess(ProcessCollector):
    """Start, memory, CPU and open files of this process.

    The collector reads the time of boot from /proc/stat and says nothing at all where a unit
    hides that (``ProcSubset=pid``); the kernel tells it by a clock as well.
    """

    def _boot_time(self) -> float:
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


class ProcessMetrics:
    """The numbers of one process; what one kind of process counts is in the classes below it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        OwnProcess(registry=self.registry)
        self.publishes = Counter(
            "notify_publishes",
            "Messages given to RabbitMQ, by its answer",
            ["outcome"],
            registry=self.registry,
        )
        for outcome in PUBLISHED:
            self.publishes.labels(outcome)
        self._build = Gauge(
            "notify_build_info",
            "Always 1; config is the same where channels and rungs are",
            ["version", "config"],
            registry=self.registry,
        )

    def serve(self, settings: Settings, *process: str, copy: int = 1) -> None:
        """Answers ``GET /metrics`` from now on; without a port, or where it is taken, not.

        ``process`` is a worker's channel and priority, or another process's name; ``copy`` counts
        those of one kind on this host. A port that is taken is no reason to deliver nothing.
        """
        self._build.labels(version("notify-pipeline"), fingerprint(settings)).set(1)
        port = settings.metrics.port(*process, copy=copy)
        if not port:
            return
        try:
            start_http_server(port, addr=settings.metrics.address, registry=self.registry)
        except OSError as error:
            log.warning("no metrics", extra=event(port=port, why=error.strerror))


def fingerprint(settings: Settings) -> str:
    """Few letters that differ where what all processes must agree on differs; no secrets in it."""
    channels = settings.model_dump(mode="json", include={"channels"})
    shared = [channels, list(settings.broker.rungs), settings.redis.prefix]
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:8]
