"""``notify schedule add``, ``edit``, ``pause``, ``resume`` and ``remove``."""

from typing import Any, Final

import click

from notify.cli.context import Context, json_option, pass_context, print_json, say, user
from notify.cli.schedule_facts import changed_lines
from notify.cli.schedule_options import given, opened, schedule_options
from notify.errors import InvalidInput, UsageError
from notify.schedule.checking import read_schedule
from notify.schedule.spec import FILE, ONCE, ScheduleSpec, diff
from notify.schedule.truth import Truth

# Of each of these only one can be: another one takes its place.
_EITHER: Final = (("cron", "every", "at"), ("recipient", "file", "python"))
_AUDIENCE: Final = ("recipient", "file", "python")


@click.command()
@click.argument("name")
@schedule_options
@click.option("--paused", is_flag=True, help="It rests until it is resumed.")
@pass_context
def add(context: Context, /, name: str, **options: Any) -> None:
    """Stores a schedule: CHANNEL and RECIPIENT, --file or --python; and --cron, --every or --at.

    \b
    notify schedule add standup email team@example.com --subject Stand-up --body "In 15 minutes" \\
        --cron "0 9 * * 1-5" --zone Europe/Berlin
    notify schedule add bills sms --file customers.csv --template bill --cron "0 10 L * *" \\
        --zone Europe/Berlin --spread 30m --misfire run-latest --grace 6h
    notify schedule add alive webhook https://example.com/hook --data '{"ok": true}' --every 5m
    """
    values = given(options) | {"paused": options["paused"]}
    spec = read_schedule(context.settings, context.templates, name, values)
    with opened(context) as truth:
        truth.add(spec, user())
    say(f"{name}: {spec.recurrence.describe()}")
    for remark in spec.recurrence.remarks():
        say(f"  {remark}")


@click.command()
@click.argument("name")
@schedule_options
@click.option("--clear", multiple=True, metavar="KEY", help="Takes something away, like quiet.")
@json_option
@pass_context
def edit(
    context: Context, /, name: str, clear: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Changes what the options say, and nothing else of a schedule.

    What is due already is fired all the same, with the new content; with other times than
    before, nothing is fired for the past.
    """
    changes = given(options)
    if not changes and not clear:
        raise UsageError("give what is to be changed")
    with opened(context) as truth:
        before = truth.get(name)
        if before.origin == ONCE:
            raise UsageError(f"{name}: is sent at an instant; cancel it and send another")

        def change(old: ScheduleSpec) -> ScheduleSpec:
            values = _changed(old.to_dict(), changes, clear)
            return read_schedule(context.settings, context.templates, name, values)

        after = truth.change(name, change, user())
    lines = diff(before, after)
    if as_json:
        print_json([{"key": key, "old": old, "new": new} for key, old, new in lines])
        return
    say("\n".join(changed_lines(lines)) or f"{name}: is so already")
    if before.origin == FILE and lines:
        click.echo("it is from a file: the next import makes it again what that says", err=True)


def _changed(
    values: dict[str, Any], changes: dict[str, Any], clear: tuple[str, ...]
) -> dict[str, Any]:
    for either in _EITHER:
        if any(key in changes for key in either):
            values = {key: value for key, value in values.items() if key not in either}
    for key in clear:
        if key.replace("-", "_") not in values:
            raise UsageError(f"--clear: there is no {key}")
        del values[key.replace("-", "_")]
    if "misfire" in changes and "policy" not in changes["misfire"]:
        changes = changes | {"misfire": values.get("misfire", {}) | changes["misfire"]}
    return values | changes


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME ...")
@pass_context
def pause(context: Context, names: tuple[str, ...]) -> None:
    """It fires nothing until it is resumed, and makes up for nothing then."""
    with opened(context) as truth:
        for name in names:
            truth.pause(name, user())
            say(f"{name}: paused")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME ...")
@pass_context
def resume(context: Context, names: tuple[str, ...]) -> None:
    """It fires again from its next planned instant on."""
    with opened(context) as truth:
        for name in names:
            truth.resume(name, user())
            say(f"{name}: resumed")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME ...")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@pass_context
def remove(context: Context, names: tuple[str, ...], yes: bool) -> None:
    """Removes schedules; what they have published already is delivered."""
    with opened(context) as truth:
        for name in names:
            if yes:
                truth.remove(name, user())
                say(f"{name}: removed")
            else:
                say(f"{name}: would be removed: {_brief(truth, name)}")
    if not yes:
        say("nothing was removed; repeat with --yes")


def _brief(truth: Truth, name: str) -> str:
    try:
        return truth.get(name).recurrence.describe()
    except InvalidInput:
        return "it cannot be read"
