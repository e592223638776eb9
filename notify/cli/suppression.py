"""``notify suppression``: recipients that get nothing."""

from contextlib import suppress
from typing import Any

import click

from notify import smsprep
from notify.cli.context import (
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.tables import print_table
from notify.errors import InvalidNotification, NotFound
from notify.notification import CHANNELS
from notify.suppressions import Suppression
from notify.telemetry import mask

_COLUMNS = ("since (UTC)", "channel", "recipient", "reason", "source", "by")


@click.group()
def suppression() -> None:
    """Recipients that get nothing: opt-outs, addresses that do not exist, endpoints.

    They are added when a provider says so, and removed here only. What is sent to one of them
    is archived as "suppressed".
    """


@suppression.command("list")
@click.option("--channel", type=click.Choice(CHANNELS))
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@click.option("--reveal", is_flag=True, help="Show recipients in full.")
@json_option
@pass_context
def list_(context: Context, channel: str | None, limit: int, reveal: bool, as_json: bool) -> None:
    """Lists suppressions, newest first."""
    channels = CHANNELS if channel is None else (channel,)
    with context.suppressions() as stored:
        found = [each for name in channels for each in stored.page(name, limit=limit)]
        total = sum(map(stored.count, channels))
    newest = sorted(found, key=lambda each: each.since, reverse=True)[:limit]
    rows = [facts(each, reveal) for each in newest]
    if as_json:
        print_json({"total": total, "suppressions": rows})
        return
    names = ("since", "channel", "recipient", "reason", "source", "by")
    print_table(_COLUMNS, [[row[name] for name in names] for row in rows])
    say(f"{len(rows)} of {total}")


@suppression.command()
@click.argument("channel", type=click.Choice(CHANNELS))
@click.argument("recipient")
@click.option("--reason", default="requested", show_default=True, help="A word, to be shown.")
@click.option("--by", default=user, help="Who and why, to be shown.")
@pass_context
def add(context: Context, channel: str, recipient: str, reason: str, by: str) -> None:
    """Sends nothing more to a recipient through this channel."""
    recipient = smsprep.recipient(channel, recipient, context.settings)
    with context.suppressions() as stored:
        new = stored.add(channel, recipient, reason=reason, source="operator", by=by)
    say(f"{channel} {mask(recipient)}: {'suppressed' if new else 'was suppressed before'}")


@suppression.command()
@click.argument("channel", type=click.Choice(CHANNELS))
@click.argument("recipient")
@pass_context
def remove(context: Context, channel: str, recipient: str) -> None:
    """Sends to a recipient again. Gateways keep lists of their own."""
    # What no longer is a possible number may still be on the list.
    with suppress(InvalidNotification):
        recipient = smsprep.recipient(channel, recipient, context.settings)
    with context.suppressions() as stored:
        if not stored.remove(channel, recipient):
            raise NotFound(f"{channel} {mask(recipient)} is not suppressed")
    say(f"{channel} {mask(recipient)}: no longer suppressed")


def facts(item: Suppression, reveal: bool) -> dict[str, Any]:
    """A suppression for programs; ``key`` stands for the recipient."""
    return {
        "channel": item.channel,
        "recipient": item.recipient if reveal else mask(item.recipient),
        "key": item.digest[:12],
        "reason": item.reason,
        "source": item.source,
        "by": item.by,
        "since": f"{item.since:%Y-%m-%d %H:%M:%S}",
    }
