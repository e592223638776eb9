"""``notify config``."""

import click

from notify.cli.context import Context, pass_context, say
from notify.errors import ConfigError
from notify.templates import check_templates


@click.group()
def config() -> None:
    """The configuration."""


@config.command()
@pass_context
def check(context: Context) -> None:
    """Reports every error in configuration and templates at once, with file and key or line."""
    problems: list[str] = []
    queues = []
    try:
        queues = context.settings.queues()
    except ConfigError as error:
        problems.extend(error.problems)
    problems.extend(check_templates(context.templates_directory))
    if problems:
        raise ConfigError(problems)
    names = ", ".join(f"{channel}.{priority}" for channel, priority in queues)
    say(f"configuration is valid; queues: {names}")
    if context.templates.names():
        say(f"templates are valid: {', '.join(context.templates.names())}")


COMMANDS = (config,)
