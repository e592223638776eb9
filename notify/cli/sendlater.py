"""``notify send --at`` and ``--cancel``: one notification at an instant."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import click

from notify.cli.context import Context, pairs, print_json, say, user
from notify.cli.schedule_facts import utc
from notify.cli.schedule_options import opened
from notify.errors import UsageError
from notify.notification import new_id
from notify.recurrence import parse_recurrence
from notify.schedule.once import Once, OneShots

# They would be what they are now, or nothing would be sent.
_NOT_LATER: Final = {"attached": "--attach", "inlined": "--inline", "preview": "--preview"}


def send_later(
    context: Context,
    values: Mapping[str, Any],
    variables: Sequence[str],
    extras: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    """``values`` are a notification's, perhaps with a template, which is rendered then."""
    for name, option in _NOT_LATER.items():
        if extras[name]:
            raise UsageError(f"--at: cannot be combined with {option}")
    given = dict(values) | {"at": extras["at"], "zone": extras["zone"]}
    if variables:
        given["variables"] = dict(pairs(variables, "--var"))
    expires_at = given.pop("expires_at", None)
    if expires_at is not None:
        given["expires_after"] = _seconds_until(expires_at, extras)
    id = given.pop("id", None) or new_id()
    with opened(context) as truth:
        once = OneShots(context.settings, truth, context.templates).add(id, given, user())
    _tell(once, as_json)


def _seconds_until(expires_at: datetime, extras: Mapping[str, Any]) -> float:
    at = parse_recurrence({name: extras[name] for name in ("at", "zone")}).at
    seconds = (expires_at - at).total_seconds() if at and expires_at.utcoffset() is not None else 0
    if seconds <= 0:
        raise UsageError("--expires-at: must have a UTC offset and be after --at")
    return seconds


def _tell(once: Once, as_json: bool) -> None:
    if as_json:
        print_json({"id": once.id, "at": once.at, "state": once.state})
        return
    say(once.id)
    if once.state == "scheduled":
        click.echo(f"to be sent {utc(once.at)} UTC", err=True)
    else:
        click.echo(f"was to be sent {utc(once.at)} UTC: {once.state}", err=True)


def cancel(context: Context, id: str) -> None:
    with opened(context) as truth:
        OneShots(context.settings, truth, context.templates).cancel(id, user())
    say(f"{id}: cancelled")
