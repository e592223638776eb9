"""Puts one worker together and runs it."""

import gc
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
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning

from notify import topology
from notify.app import make_app
from notify.broker import Depth, tolerate_foreign_properties
from notify.config import Settings
from notify.deliver import Pipeline
from notify.errors import LedgerUnavailable, UsageError
from notify.heartbeat import Heartbeats
from notify.message import Envelope
from notify.routing import Opening
from notify.steps import HandBack, Pause
from notify.tasks import Work, register
from notify.telemetry import event, set_up_logging
from notify.tools import Tools
from notify.worker.alone import deliver_alone
from notify.worker.assembly import make_pipeline
from notify.worker.beginning import check
from notify.worker.gate import Gate
from notify.worker.numbers import show_metrics
from notify.worker.probe import Probe, ProbeStep
from notify.worker.program import Program
from notify.worker.reload import make_reloader
from notify.worker.request import TakenBack
from notify.worker.watch import EXIT_NOT_ALIVE, Watch
from notify.worker.yielding import yield_to_others

log = logging.getLogger(__name__)

# A probe that takes longer than this to be confirmed has not been.
_PROBE_TIMEOUT: Final = 3.0


def run_worker(settings: Settings, channel: str, priority: str, number: str = "") -> int:
    """Consumes one queue until SIGTERM or SIGINT; returns the exit code.

    ``number`` tells several workers of one queue on one host apart. Raises ``UsageError`` for a
    channel or priority that is not configured, ``TopologyMismatch`` where the broker lacks what
    is needed, and ``Unavailable``.
    """
    if (channel, priority) not in settings.queues():
        known = ", ".join(f"{c} {p}" for c, p in settings.queues())
        raise UsageError(f"no queue for {channel} {priority}; configured: {known}")
    set_up_logging(settings.log.level, settings.log.format)
    queue_settings = getattr(settings.channel(channel).queues, priority)
    yield_to_others(queue_settings.nice)
    configured, settings = settings, check(settings, channel, priority)
    stopping = threading.Event()
    pipeline = make_pipeline(settings, channel, stopping.wait)
    tolerate_foreign_properties()
    app = make_app(settings)
    queue = topology.work_queue(channel, priority)
    pipeline.tools.router.fleet.start()
    gate = Gate(queue, _look(pipeline, urgent=priority == "urgent"), stopping)
    probe = Probe(pipeline.tools.publisher, _PROBE_TIMEOUT)
    app.notify_gate, app.notify_probe = gate, probe
    app.steps["consumer"].add(ProbeStep)
    app.notify_work = Work(_through(gate, pipeline), _Progress(pipeline.tools, queue))
    register(app, app.notify_work)
    broker = settings.broker
    depth = Depth(broker.urls, queue, timeout=_PROBE_TIMEOUT, trusted=broker.ca_file)
    watch = Watch(
        pipeline=pipeline,
        probe=probe,
        gate=gate,
        depth=depth,
        concurrency=queue_settings.concurrency,
        stopping=stopping,
    )
    watch.start()
    make_reloader(configured, pipeline, watch.resume).watch()
    show_metrics(settings, pipeline, gate, priority, number)
    name = f"{channel}-{priority}{'.' * bool(number)}{number}"
    ready = _Ready(queue, watch)
    exit_code = _serve(app, settings, ready, name, queue_settings.concurrency, stopping)
    pipeline.tools.router.close()
    pipeline.tools.publisher.close()
    pipeline.tools.ledger.close()
    return EXIT_NOT_ALIVE if watch.gave_up else exit_code


class _Progress:
    """Notes how old the messages are that leave the queue; in Redis, once a second."""

    def __init__(self, tools: Tools, queue: str) -> None:
        self._tools = tools
        self._queue = queue
        self._noted = 0.0

    def __call__(self, envelope: Envelope, exchange: str, published: int | None) -> None:
        # What comes back from a rung was in this queue before, and waited there on purpose.
        if exchange == topology.EXCHANGE and envelope.attempt == 1 and not envelope.heartbeat:
            waited = (self._tools.now() - envelope.first_queued).total_seconds()
            seconds = self._tools.metrics.queue_wait_seconds.labels(*envelope.queue)
            seconds.observe(max(0.0, waited))
        now = time.monotonic()
        if published is None or now - self._noted < 1.0:
            return
        self._noted = now
        # It is only shown to people: without Redis nothing is delivered, and that is said there.
        with suppress(LedgerUnavailable):
            self._tools.ledger.note_progress(self._queue, published)


def _look(pipeline: Pipeline, *, urgent: bool) -> Callable[[], tuple[Opening, str]]:
    def look() -> tuple[Opening, str]:
        pipeline.tools.ledger.probe()
        pipeline.claims.release_unanswered()
        return pipeline.tools.router.fleet.opening(urgent)

    return look


def _through(gate: Gate, pipeline: Pipeline) -> Callable[[Envelope, bool], str]:
    heartbeats, handed_back = Heartbeats(pipeline), pipeline.tools.metrics.handed_back

    def once(envelope: Envelope, redelivered: bool, on_trial: bool) -> str:
        if envelope.heartbeat and envelope.notification.channel == pipeline.name:
            return heartbeats.take(envelope, redelivered=redelivered, on_trial=on_trial)
        if envelope.alone:
            return deliver_alone(pipeline, envelope, redelivered, on_trial)
        return pipeline.deliver(envelope, redelivered=redelivered, on_trial=on_trial)

    def deliver(envelope: Envelope, redelivered: bool) -> str:
        try:
            on_trial = gate.enter()
            try:
                return once(envelope, redelivered, on_trial)
            finally:
                gate.leave(on_trial)
        except HandBack as reason:
            handed_back.labels(*envelope.queue).inc()
            if isinstance(reason, Pause):
                gate.close(str(reason))
            raise

    return deliver


def _serve(
    app: Celery,
    settings: Settings,
    ready: "_Ready",
    name: str,
    concurrency: int,
    stopping: threading.Event,
) -> int:
    def own_logging(**_: object) -> None:
        set_up_logging(settings.log.level, settings.log.format)
        logging.getLogger("celery.worker.request").addFilter(TakenBack())

    signals.setup_logging.connect(own_logging, weak=False)
    # Celery warns of root because a pickled message could then do anything; ours are JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    program = Program(
        app=app,
        hostname=f"{name}@{socket.gethostname()}",
        pool_cls="notify.worker.pool:Pool",
        concurrency=concurrency,
        queues=[ready.queue],
        without_mingle=True,
        without_gossip=True,
        quiet=True,
        loglevel=settings.log.level,
        ready_callback=ready,
    )
    program.on_stop_signal = stopping.set
    program.start()
    log.info("stopped", extra=event(queue=ready.queue))
    return program.exitcode or 0


class _Ready:
    """Called each time the consumer has begun."""

    def __init__(self, queue: str, watch: Watch) -> None:
        self.queue = queue
        self._watch = watch

    def __call__(self, _: object) -> None:
        # Set here because Celery's own set-up turns them on: one asks for a choice that app.py
        # has made, the other fears for a control queue that outlives a connection on purpose.
        warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)
        warnings.filterwarnings("ignore", category=UserWarning, module="kombu.pidbox")
        _spare_the_collector()
        log.info("ready", extra=event(queue=self.queue, pid=os.getpid()))
        self._watch.tell_ready()


def _spare_the_collector() -> None:
    """What has been loaded stays: Python need not look through it for garbage.

    And by its defaults it would look seven times for each hundred messages, for a thirtieth
    of their time; what a message leaves is nearly all freed without it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)
