"""``notify archiver``."""

import signal
import threading
from contextlib import closing

import click

from notify.archivecount import CountedArchive
from notify.archiver import CONNECTING, Archiver
from notify.care import caring
from notify.cli.context import Context, pass_context
from notify.metrics import ArchiverMetrics
from notify.publishcount import open_publisher
from notify.redrive import Redriver
from notify.reloading import Reloader
from notify.systemd import Reporter
from notify.telemetry import set_up_logging

_SECTIONS = ("archive", "broker", "care", "log")


@click.command()
@pass_context
def archiver(context: Context) -> None:
    """Moves dead letters from RabbitMQ into the archive."""
    settings = context.settings
    set_up_logging(settings.log.level, settings.log.format)
    stop, reporter = threading.Event(), Reporter(begins=CONNECTING)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Reloader(settings, sections=_SECTIONS, then=reporter.resumed).watch()
    metrics = ArchiverMetrics()
    metrics.serve(settings, "archiver")
    with (
        context.store() as store,
        closing(open_publisher(settings, metrics)) as publisher,
        caring(settings, stop, metrics),
    ):
        Archiver(
            settings.broker,
            CountedArchive(Redriver(store, publisher), metrics),
            batch_size=settings.archive.batch_size,
            batch_wait=settings.archive.batch_wait,
            stop=stop,
            on_status=reporter.status,
            on_turn=reporter.alive,
        ).run()
