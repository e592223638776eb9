"""The long-running processes: ``notify worker``, ``archiver``, ``beat`` and ``exporter``."""

import signal
import threading
from contextlib import closing

import click

from notify.archivecount import CountedArchive
from notify.archiver import CONNECTING, Archiver
from notify.care import caring
from notify.cli.context import Context, pass_context
from notify.exporter import run_exporter
from notify.metrics import ArchiverMetrics
from notify.publish import open_publisher
from notify.redrive import Redriver
from notify.reloading import Reloader
from notify.schedule import run_beat
from notify.systemd import Reporter
from notify.telemetry import set_up_logging
from notify.worker import run_worker

_OF_THE_ARCHIVER = ("archive", "broker", "care", "log")


@click.command()
@click.argument("channel")
@click.argument("priority", required=False)
@pass_context
@click.pass_context
def worker(command: click.Context, context: Context, channel: str, priority: str | None) -> None:
    """Delivers the notifications of one channel and priority.

    "notify worker sms urgent" and "notify worker sms-urgent" are the same; the second is
    the name of a systemd instance. "sms-urgent.2" is a second worker for that queue.
    """
    number = ""
    if priority is None:
        instance, _, number = channel.partition(".")
        channel, _, priority = instance.rpartition("-")
    command.exit(run_worker(context.settings, channel, priority, number))


@click.command()
@pass_context
def archiver(context: Context) -> None:
    """Moves dead letters from RabbitMQ into the archive."""
    settings = context.settings
    set_up_logging(settings.log.level, settings.log.format)
    stop, reporter = threading.Event(), Reporter(begins=CONNECTING)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Reloader(settings, sections=_OF_THE_ARCHIVER, then=reporter.resumed).watch()
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


@click.command()
@pass_context
@click.pass_context
def beat(command: click.Context, context: Context) -> None:
    """Fires the schedules; run two or more, one leads."""
    command.exit(run_beat(context.settings))


@click.command()
@pass_context
@click.pass_context
def exporter(command: click.Context, context: Context) -> None:
    """Shows Prometheus the queues and Redis, and publishes the heartbeats."""
    command.exit(run_exporter(context.settings))


COMMANDS = (worker, archiver, beat, exporter)
