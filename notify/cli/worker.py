"""``notify worker``."""

import click

from notify.cli.context import Context, pass_context
from notify.worker import run_worker


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
