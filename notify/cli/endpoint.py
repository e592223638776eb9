"""``notify endpoint``: URLs that webhooks are not sent to."""

from typing import Any

import click

from notify.cli.context import (
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.suppression import facts
from notify.cli.tables import print_table
from notify.errors import NotFound
from notify.suppressions import Failing
from notify.telemetry import mask

_CHANNEL = "webhook"
_COLUMNS = ("state", "since (UTC)", "endpoint", "key", "failures", "reason", "source", "by")


@click.group()
def endpoint() -> None:
    """URLs of webhooks that are disabled, or only fail.

    One that answers 410, or only fails for some days, is disabled. What is sent to it is
    archived as "endpoint_disabled".
    """


@endpoint.command("list")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@click.option("--reveal", is_flag=True, help="Show URLs in full.")
@json_option
@pass_context
def list_(context: Context, limit: int, reveal: bool, as_json: bool) -> None:
    """Lists disabled endpoints, newest first, and those that only fail."""
    with context.suppressions() as stored:
        disabled = [facts(each, reveal) for each in stored.page(_CHANNEL, limit=limit)]
        failing = [_failing(each, reveal) for each in stored.failing(_CHANNEL, limit=limit)]
    rows = [{"state": "disabled", "failures": None} | row for row in disabled] + failing
    if as_json:
        print_json({"endpoints": rows})
        return
    names = ("state", "since", "recipient", "key", "failures", "reason", "source", "by")
    print_table(_COLUMNS, [[row.get(name) for name in names] for row in rows])


@endpoint.command()
@click.argument("url")
@pass_context
def enable(context: Context, url: str) -> None:
    """Sends webhooks to a URL again. What was archived is not: see notify dead replay."""
    with context.suppressions() as stored:
        if not stored.remove(_CHANNEL, url):
            raise NotFound(f"{mask(url)} is not disabled")
    say(f"{mask(url)}: enabled")


@endpoint.command()
@click.argument("url")
@click.option("--by", default=user, help="Who and why, to be shown.")
@pass_context
def disable(context: Context, url: str, by: str) -> None:
    """Sends no webhooks to a URL until it is enabled."""
    with context.suppressions() as stored:
        new = stored.add(_CHANNEL, url, reason="disabled", source="operator", by=by)
    say(f"{mask(url)}: {'disabled' if new else 'was disabled before'}")


def _failing(item: Failing, reveal: bool) -> dict[str, Any]:
    return {
        "state": "failing",
        "channel": item.channel,
        "recipient": item.recipient if reveal else mask(item.recipient),
        "key": item.digest[:12],
        "failures": item.failures,
        "since": f"{item.since:%Y-%m-%d %H:%M:%S}",
    }
