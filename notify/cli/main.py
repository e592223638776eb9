"""``notify``: the group of all commands, and how errors become exit codes."""

import os
import sys
from pathlib import Path

import click

from notify.cli import (
    archive,
    batch,
    care,
    config,
    dead,
    doctor,
    drill,
    endpoint,
    local,
    phone,
    privacy,
    provider,
    providers,
    queues,
    run,
    schedule,
    send,
    status,
    suppression,
    template,
    topology,
    webhook,
)
from notify.cli.context import Context, exit_code
from notify.errors import NotifyError

_EPILOG = """
Every option can also be set in the environment: NOTIFY_CONFIG for --config, and
NOTIFY_COMMAND_OPTION for an option of a command, such as NOTIFY_SEND_PRIORITY.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 configuration or topology,
4 RabbitMQ, Redis or the archive unavailable, 5 partly done.
"""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
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


_QUESTIONS = (doctor, status, queues, providers, provider, dead, care, archive)
_RECIPIENTS = (phone, suppression, endpoint, webhook, privacy)
_FIRST = (config, template, topology, send, batch, run)
for module in (*_FIRST, *_QUESTIONS, *_RECIPIENTS, schedule, local, drill):
    for command in module.COMMANDS:
        cli.add_command(command)


def _name_twins(command: click.Command, prefix: str) -> None:
    """Names each option's environment twin after the option, whatever our variable is called."""
    for option in command.params:
        if isinstance(option, click.Option) and option.expose_value and not option.envvar:
            name = max(option.opts, key=len).removeprefix("--").replace("-", "_")
            option.envvar = f"{prefix}_{name}".upper()
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            _name_twins(child, f"{prefix}_{name}")


_name_twins(cli, "NOTIFY")


def main(arguments: list[str] | None = None) -> None:
    """Runs a command; an error of ours is one message on stderr and an exit code."""
    try:
        cli.main(arguments, prog_name="notify")
    except NotifyError as error:
        click.echo(f"notify: {error}", err=True)
        sys.exit(exit_code(error))
