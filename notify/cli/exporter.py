"""``notify exporter``."""

import click

from notify.cli.context import Context, pass_context
from notify.exporter import run_exporter


@click.command()
@pass_context
@click.pass_context
def exporter(command: click.Context, context: Context) -> None:
    """Shows Prometheus the queues and Redis, and publishes the heartbeats."""
    command.exit(run_exporter(context.settings))
