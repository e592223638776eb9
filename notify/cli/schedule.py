"""``notify schedule``."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from notify import smsprep
from notify.cli.context import Context, json_option, pass_context, print_json, print_table, say
from notify.config.types import parse_duration
from notify.errors import InvalidInput
from notify.notification import CHANNELS, PRIORITIES, Notification
from notify.publish import prepare
from notify.schedule import Schedules, parse_timing
from notify.telemetry import mask


@click.group()
def schedule() -> None:
    """Notifications that are sent at certain times."""


@schedule.command()
@click.argument("name")
@click.argument("channel", type=click.Choice(CHANNELS))
@click.argument("recipient")
@click.option("--every", help='Such as "30s" or "1h".')
@click.option("--cron", help="Five fields, in UTC.")
@click.option("--at", help="Once, such as 2027-03-01T09:00:00+01:00.")
@click.option("--priority", type=click.Choice(PRIORITIES), default="normal", show_default=True)
@click.option("--subject")
@click.option("--body")
@pass_context
def add(
    context: Context,
    /,
    name: str,
    channel: str,
    recipient: str,
    every: str | None,
    cron: str | None,
    at: str | None,
    **content: Any,
) -> None:
    """Stores a schedule; give one of --every, --cron and --at."""
    timing = parse_timing(every=_seconds(every), cron=cron, at=_instant(at))
    number = smsprep.recipient(channel, recipient, context.settings)
    notification = Notification(channel=channel, recipient=number, **content)
    notification = prepare(notification, context.settings, datetime.now(UTC))
    Schedules(context.settings).add(name, timing, notification)
    say(f"{name}: {timing.describe()}")


@schedule.command("list")
@json_option
@pass_context
def list_(context: Context, as_json: bool) -> None:
    """Lists the schedules, soonest first."""
    planned = Schedules(context.settings).list()
    rows = [asdict(item) | _masked(item.notification) for item in planned]
    for row in rows:
        del row["notification"]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["name", "when", "next (UTC)", "channel", "recipient"], [list(r.values()) for r in rows]
    )


@schedule.command()
@click.argument("name")
@pass_context
def remove(context: Context, name: str) -> None:
    """Removes a schedule; what it has published already is delivered."""
    Schedules(context.settings).remove(name)
    say(f"{name}: removed")


def _masked(notification: Notification) -> dict[str, str]:
    return {"channel": notification.channel, "recipient": mask(notification.recipient)}


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise InvalidInput(f"every: {error}") from error


def _instant(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput("at: must be an ISO 8601 date and time") from error


COMMANDS = (schedule,)
