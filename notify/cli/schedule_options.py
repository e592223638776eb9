"""The options that say when, to whom and what; what a command needs to work on schedules."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from notify.cli.context import Context, pairs
from notify.errors import InvalidInput, UsageError
from notify.notification import CHANNELS, PRIORITIES
from notify.recurrence.misfire import POLICIES
from notify.schedule.audiences import Audiences
from notify.schedule.truth import Truth

WHEN: Final = (
    click.option("--cron", help='Five fields, or "@daily"; on the clock of --zone.'),
    click.option("--every", help='Such as "30s" or "1h"; counted from --start.'),
    click.option("--at", help="Once, such as 2027-03-01T09:00:00+01:00."),
    click.option("--zone", help="An IANA name like Europe/Berlin (default: UTC)."),
    click.option("--start", help="Nothing before: an instant, or a day in the zone."),
    click.option("--end", help="Nothing after; a day is the last one."),
    click.option("--exclude", multiple=True, metavar="DATE", help="Not on this day."),
    click.option("--quiet", multiple=True, metavar="SPAN", help='Like "SAT,SUN 00:00-24:00".'),
    click.option("--quiet-policy", type=click.Choice(["defer", "skip"])),
    click.option("--jitter", help="Put off by up to this, always by as much for the same one."),
)
WHAT: Final = (
    click.option("--file", help="Recipients: CSV or JSON Lines, read when it fires."),
    click.option("--encoding", help="Of the file (default: UTF-8)."),
    click.option("--python", help="Recipients: package.module:function."),
    click.option("--spread", help="Over this time the recipients are distributed."),
    click.option("--priority", type=click.Choice(PRIORITIES)),
    click.option("--subject"),
    click.option("--body"),
    click.option("--html"),
    click.option("--data", help="JSON that a webhook posts."),
    click.option("--template", help="Rendered each time it fires."),
    click.option("--var", "variables", multiple=True, metavar="NAME=VALUE"),
    click.option("--label", "labels", multiple=True, metavar="NAME=VALUE"),
    click.option("--unsubscribe", help="An https URL, for a mail."),
    click.option("--expires-after", help="Not sent later than this after its planned instant."),
    click.option("--misfire", type=click.Choice(POLICIES), help="What becomes of late ones."),
    click.option("--grace", help="How late is not too late."),
    click.option("--cap", type=int, help="Of run-all: no more than the last so many."),
    click.option("--note", help="One line for people."),
)
_CHANNEL: Final = click.argument("channel", required=False, type=click.Choice(CHANNELS))
_RECIPIENT: Final = click.argument("recipient", required=False)

Function = Callable[..., Any]


def _added(function: Function, options: Iterable[Callable[[Function], Function]]) -> Function:
    for option in reversed(tuple(options)):
        function = option(function)
    return function


def when_options(function: Function) -> Function:
    return _added(function, WHEN)


def schedule_options(function: Function) -> Function:
    """CHANNEL, RECIPIENT and the options; ``given`` reads their values."""
    return _added(function, (_CHANNEL, _RECIPIENT, *WHEN, *WHAT))


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say, under the keys of a schedule. Raises ``UsageError``."""
    values = {key: value for key, value in options.items() if value not in (None, (), "")}
    for key in ("exclude", "quiet"):
        if key in values:
            values[key] = list(values[key])
    for key, option in (("variables", "--var"), ("labels", "--label")):
        if key in values:
            values[key] = dict(pairs(values[key], option))
    if "data" in values:
        values["data"] = _json(values["data"])
    return {**dict(_misfire(values)), **dict(_file(values)), **values}


def _misfire(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    policy = {"policy": values.pop("misfire", None)}
    policy |= {key: values.pop(key, None) for key in ("grace", "cap")}
    policy = {key: value for key, value in policy.items() if value is not None}
    if policy:
        yield "misfire", policy


def _file(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    encoding = values.pop("encoding", None)
    if "file" in values:
        # As whoever types it means it; the beat runs elsewhere.
        values["file"] = str(Path(values["file"]).absolute())
    if encoding and "file" not in values:
        raise InvalidInput("--encoding: is that of --file")
    if encoding:
        yield "file", {"path": values.pop("file"), "encoding": encoding}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--data: is not valid JSON: {error}") from error


def read_instant(option: str, text: str) -> datetime:
    """In UTC. Raises ``UsageError``."""
    try:
        instant = datetime.fromisoformat(text)
        if instant.utcoffset() is not None:
            return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{option}: must be like 2027-03-01T09:00:00+01:00")


@contextmanager
def opened(context: Context) -> Iterator[Truth]:
    with (
        Audiences(context.settings) as audiences,
        Truth(context.settings, fanout=audiences) as truth,
    ):
        yield truth
