"""``notify``: the group of all commands, and how errors become exit codes."""

import os
import sys
from pathlib import Path

import click

from notify.cli.commands import Commands, Notify
from notify.cli.context import Context, exit_code
from notify.errors import NotifyError

_EPILOG = """
Every option can also be set in the environment: NOTIFY_CONFIG for --config, and
NOTIFY_COMMAND_OPTION for an option of a command, such as NOTIFY_SEND_PRIORITY.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 configuration or topology,
4 RabbitMQ, Redis or the archive unavailable, 5 partly done.
"""


@click.group(
    cls=Notify,
    commands=Commands(),
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--config",
    "directory",
    envvar="NOTIFY_CONFIG",
    type=click.Path(path_type=Path),
    help="The configuration directory (default: config).",
)
@click.version_option(package_name="notify-pipeline")
@click.pass_context
def cli(context: click.Context, directory: Path | None) -> None:
    """Notify: notifications through RabbitMQ to SMS, email and webhooks."""
    if directory is not None:
        # Processes that this one starts read the same configuration.
        os.environ["NOTIFY_CONFIG"] = str(directory.absolute())
    context.obj = Context(directory)


def main(arguments: list[str] | None = None) -> None:
    """Runs a command; an error of ours is one message on stderr and an exit code."""
    try:
        cli.main(arguments, prog_name="notify")
    except NotifyError as error:
        click.echo(f"notify: {error}", err=True)
        sys.exit(exit_code(error))
