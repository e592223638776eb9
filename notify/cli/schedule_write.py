"""``notify schedule add``, ``edit``, ``pause``, ``resume`` and ``remove``."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

import click

from notify.cli.context import Context, json_option, pass_context, print_json, say, user
from notify.cli.schedule_facts import changed_lines, list_facts
from notify.cli.schedule_options import given, opened, schedule_options
from notify.errors import InvalidInput, NotifyError, UsageError
from notify.schedule.checking import read_schedule
from notify.schedule.spec import FILE, ONCE, ScheduleSpec, diff
from notify.schedule.stored import ACTIVE, ASLEEP, Stored
from notify.schedule.truth import Truth
from notify.schedule.waiting import MISSING, look_up
from notify.store.schedules import REMOVED

# Of each of these only one can be: another one takes its place.
_EITHER: Final = (("cron", "every", "at"), ("recipient", "file", "python"))
_AUDIENCE: Final = ("recipient", "file", "python")


@click.command()
@click.argument("name")
@schedule_options
@click.option("--paused", is_flag=True, help="It rests until it is resumed.")
@json_option
@pass_context
def add(context: Context, /, name: str, as_json: bool, **options: Any) -> None:
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
        if as_json:
            wrote = Stored(name=name, state=ASLEEP if spec.paused else ACTIVE, spec=spec)
            remarks = list(spec.recurrence.remarks())
            print_json(_read_back(truth, wrote) | {"remarks": remarks})
            return
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
@json_option
@pass_context
def pause(context: Context, names: tuple[str, ...], as_json: bool) -> None:
    """It fires nothing until it is resumed, and makes up for nothing then."""
    with opened(context) as truth, _collected() as rows:
        for name in names:
            truth.pause(name, user())
            if as_json:
                rows.append(_read_back(truth, Stored(name=name, state=ASLEEP)))
            else:
                say(f"{name}: paused")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME ...")
@json_option
@pass_context
def resume(context: Context, names: tuple[str, ...], as_json: bool) -> None:
    """It fires again from its next planned instant on."""
    with opened(context) as truth, _collected() as rows:
        for name in names:
            truth.resume(name, user())
            if as_json:
                rows.append(_read_back(truth, Stored(name=name, state=ACTIVE)))
            else:
                say(f"{name}: resumed")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME ...")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
def remove(context: Context, names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Removes schedules; what they have published already is delivered."""
    with opened(context) as truth, _collected(done=yes) as rows:
        for name in names:
            before = _known(truth, Stored(name=name, state=MISSING)) if as_json else None
            words = _remove(truth, name, yes)
            if before is None:
                say(f"{name}: {words}")
            else:
                gone = replace(before, state=REMOVED, next_at=None)
                rows.append(list_facts(gone if yes else before))
    if not (yes or as_json):
        say("nothing was removed; repeat with --yes")


def _remove(truth: Truth, name: str, yes: bool) -> str:
    if not yes:
        return f"would be removed: {_brief(truth, name)}"
    truth.remove(name, user())
    return "removed"


def _brief(truth: Truth, name: str) -> str:
    try:
        return truth.get(name).recurrence.describe()
    except InvalidInput:
        return "it cannot be read"


@contextmanager
def _collected(**more: Any) -> Iterator[list[dict[str, Any]]]:
    """For programs: what was done to each, also where the next one could not be found."""
    rows: list[dict[str, Any]] = []
    try:
        yield rows
    finally:
        if rows:
            print_json({**more, "schedules": rows})


def _read_back(truth: Truth, wrote: Stored) -> dict[str, Any]:
    found = _known(truth, wrote)
    return list_facts(replace(found, spec=found.spec or wrote.spec))


def _known(truth: Truth, otherwise: Stored) -> Stored:
    """As it is now. Where that cannot be told, what the command does is no failure for that."""
    with suppress(NotifyError):
        return look_up(truth, otherwise.name)
    return otherwise
