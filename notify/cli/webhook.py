"""``notify webhook``: for those who receive webhooks."""

import sys
import time

import click

from notify.channels.standard import TOLERANCE, problem
from notify.cli.context import FAILED, say
from notify.config.types import read_signing_secret
from notify.errors import InvalidInput


@click.group()
def webhook() -> None:
    """For receivers of webhooks, as https://www.standardwebhooks.com says."""


@webhook.command()
@click.option("--secret-file", required=True, help="The file with the secret, in base64.")
@click.option(
    "--tolerance",
    type=click.IntRange(1),
    default=int(TOLERANCE),
    show_default=True,
    help="How many seconds old or early it may be.",
)
@click.option("--id", required=True, help="The header webhook-id.")
@click.option("--timestamp", required=True, help="The header webhook-timestamp.")
@click.option("--signature", required=True, help="The header webhook-signature.")
@click.pass_context
def verify(
    command: click.Context,
    secret_file: str,
    tolerance: int,
    id: str,
    timestamp: str,
    signature: str,
) -> None:
    """Checks the webhook whose body, byte for byte, is on standard input.

    Exit code 0 when it may be believed, 1 when not, with the reason.
    """
    try:
        secret = read_signing_secret(secret_file).get_secret_value()
    except ValueError as error:
        raise InvalidInput(f"--secret-file: {error}") from None
    why = problem(
        secret,
        id=id,
        timestamp=timestamp,
        signature=signature,
        body=sys.stdin.buffer.read(),
        now=time.time(),
        tolerance=tolerance,
    )
    say(why or "valid")
    command.exit(FAILED if why else 0)
