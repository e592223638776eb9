"""``notify beat``."""

import click

from notify.cli.context import Context, pass_context
from notify.schedule.beat import run_beat


@click.command()
@pass_context
@click.pass_context
def beat(command: click.Context, context: Context) -> None:
    """Fires the schedules; run two or more, one leads."""
    command.exit(run_beat(context.settings))
