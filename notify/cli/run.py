"""The long-running processes: ``notify worker``, ``archiver`` and ``beat``."""

import signal
import threading

import click

from notify.archiver import Archiver
from notify.cli.context import Context, pass_context
from notify.redrive import Redriver
from notify.schedule import run_beat
from notify.telemetry import set_up_logging
from notify.worker import run_worker


@click.command()
@click.argument("channel")
@click.argument("priority", required=False)
@pass_context
@click.pass_context
def worker(command: click.Context, context: Context, channel: str, priority: str | None) -> None:
    """Delivers the notifications of one channel and priority.

    "notify worker sms urgent" and "notify worker sms-urgent" are the same; the second is
    the name of a systemd instance.
    """
    if priority is None:
        channel, _, priority = channel.rpartition("-")
    command.exit(run_worker(context.settings, channel, priority))


@click.command()
@pass_context
def archiver(context: Context) -> None:
    """Moves dead letters from RabbitMQ into the archive."""
    settings = context.settings
    set_up_logging(settings.log.level, settings.log.format)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with context.store() as store, context.publisher() as publisher:
        Archiver(
            settings.broker,
            Redriver(store, publisher),
            batch_size=settings.archive.batch_size,
            batch_wait=settings.archive.batch_wait,
            stop=stop,
        ).run()


@click.command()
@pass_context
@click.pass_context
def beat(command: click.Context, context: Context) -> None:
    """Fires the schedules; run two or more, one leads."""
    command.exit(run_beat(context.settings))


COMMANDS = (worker, archiver, beat)
