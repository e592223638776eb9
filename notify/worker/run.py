"""Puts one worker together and runs it."""

import logging
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from celery import Celery, signals
from celery.exceptions import SecurityWarning

from notify import topology
from notify.app import make_app
from notify.broker import Publisher
from notify.channels import build_provider
from notify.config import Settings
from notify.deliver import HandBack, Pipeline, Tools
from notify.errors import LedgerUnavailable, UsageError
from notify.ledger import Ledger
from notify.message import Envelope
from notify.provision import check_services
from notify.provision import ledger as open_ledger
from notify.tasks import register
from notify.telemetry import event, set_up_logging
from notify.worker.gate import Gate
from notify.worker.program import Program

log = logging.getLogger(__name__)

# A send may overrun its deadline by this much; the lease is longer still (config checks it).
_GRACE: Final = 3.0
_EXIT_STUCK: Final = 70
_DRAIN: Final = 30.0


def run_worker(settings: Settings, channel: str, priority: str) -> int:
    """Consumes one queue until SIGTERM or SIGINT; returns the exit code.

    Raises ``UsageError`` for a channel or priority that is not configured,
    ``TopologyMismatch`` where the broker lacks what is needed, and ``Unavailable``.
    """
    if (channel, priority) not in settings.queues():
        known = ", ".join(f"{c} {p}" for c, p in settings.queues())
        raise UsageError(f"no queue for {channel} {priority}; configured: {known}")
    check_services(settings, channel, priority)
    stopping = threading.Event()
    pipeline = _pipeline(settings, channel, stopping)
    app = make_app(settings)
    queue = topology.work_queue(channel, priority)
    gate = Gate(queue, pipeline.tools.ledger.probe, stopping)
    app.notify_gate = gate
    register(app, _through(gate, pipeline), _Progress(pipeline.tools.ledger, queue))
    concurrency = getattr(settings.channel(channel).queues, priority).concurrency
    threading.Thread(target=_watch, args=(pipeline, stopping), daemon=True).start()
    exit_code = _serve(app, settings, queue, f"{channel}-{priority}", concurrency, stopping)
    pipeline.tools.publisher.close()
    pipeline.tools.ledger.close()
    return exit_code


def _pipeline(settings: Settings, channel: str, stopping: threading.Event) -> Pipeline:
    broker, own = settings.broker, settings.channel(channel)
    tools = Tools(
        ledger=open_ledger(settings),
        publisher=Publisher(
            broker.urls,
            connect_timeout=broker.connect_timeout,
            confirm_timeout=broker.confirm_timeout,
        ),
        providers=[build_provider(provider) for provider in own.providers],
        rungs=broker.rungs,
        pause=stopping.wait,
    )
    return Pipeline(channel, own, tools)


class _Progress:
    """Notes once a second how old the messages are that leave the queue."""

    def __init__(self, ledger: Ledger, queue: str) -> None:
        self._ledger = ledger
        self._queue = queue
        self._noted = 0.0

    def __call__(self, published: int) -> None:
        now = time.monotonic()
        if now - self._noted < 1.0:
            return
        self._noted = now
        # It is only shown to people: without Redis nothing is delivered, and that is said there.
        with suppress(LedgerUnavailable):
            self._ledger.note_progress(self._queue, published)


def _through(gate: Gate, pipeline: Pipeline) -> Callable[[Envelope, bool], str]:
    def deliver(envelope: Envelope, redelivered: bool) -> str:
        try:
            return pipeline.deliver(envelope, redelivered=redelivered)
        except HandBack as reason:
            if isinstance(reason.__cause__, LedgerUnavailable):
                gate.close(str(reason))
            raise

    return deliver


def _serve(
    app: Celery,
    settings: Settings,
    queue: str,
    name: str,
    concurrency: int,
    stopping: threading.Event,
) -> int:
    def own_logging(**_: object) -> None:
        set_up_logging(settings.log.level, settings.log.format)

    signals.setup_logging.connect(own_logging, weak=False)
    # Celery warns of root because a pickled message could then do anything; ours are JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    program = Program(
        app=app,
        hostname=f"{name}@{socket.gethostname()}",
        pool_cls="notify.worker.pool:Pool",
        concurrency=concurrency,
        queues=[queue],
        without_mingle=True,
        without_gossip=True,
        quiet=True,
        loglevel=settings.log.level,
        ready_callback=lambda _: log.info("ready", extra=event(queue=queue, pid=os.getpid())),
    )
    program.on_stop_signal = stopping.set
    program.start()
    log.info("stopped", extra=event(queue=queue))
    return program.exitcode or 0


def _watch(pipeline: Pipeline, stopping: threading.Event) -> None:
    """Ends the process when a send does not come back: a thread cannot be killed."""
    while True:
        time.sleep(1.0)
        if _stuck(pipeline):
            break
    log.critical("send is stuck past its deadline: leaving", extra=event(channel=pipeline.name))
    stopping.set()
    os.kill(os.getpid(), 15)
    give_up = time.monotonic() + _DRAIN
    while time.monotonic() < give_up and len(pipeline.sending) > len(_stuck(pipeline)):
        time.sleep(0.1)
    time.sleep(1.0)
    os._exit(_EXIT_STUCK)


def _stuck(pipeline: Pipeline) -> list[str]:
    late = time.monotonic() - _GRACE
    return [owner for owner, deadline in list(pipeline.sending.items()) if deadline < late]
