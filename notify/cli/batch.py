"""``notify batch``: what is published as a batch, and what became of it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

import click

from notify.batch import lives, open_batches, where
from notify.cli.audience_runs import resume_firing
from notify.cli.batch_rows import batch_file, find_batch, reconcile, reconciled
from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.replaying import plan_facts, resume_watched, run_order, tell_finish, tell_plan
from notify.cli.sendfile import report, run_file
from notify.cli.tables import print_table
from notify.errors import UsageError
from notify.replay import OWN, Order, cancel_replay, is_replay, open_desk, plan_replay
from notify.schedule.audience.order import is_firing
from notify.store import Filter
from notify.store.batches import CANCELLED, FINISHED, PAUSED, RUNNING, Batch

# What runs and has nobody who runs it: with a schedule's, the beat goes on.
_UNOWNED: Final = {False: "interrupted", True: "waiting"}
_OF_A_SCHEDULE: Final = ("schedule", "planned", "actual", "why")


@click.group()
def batch() -> None:
    """Batches: files that are sent, how far they are, and what became of each row."""


@batch.command("list")
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@json_option
@pass_context
def list_(context: Context, limit: int, as_json: bool) -> None:
    """Lists batches, newest first."""
    with open_batches(context.settings) as batches:
        found = [_facts(each) for each in batches.latest(limit)]
    if as_json:
        print_json(found)
        return
    columns = ["name", "state", "rows", "published", "rejected", "not_published", "created_at"]
    print_table(columns, [[facts[column] for column in columns] for facts in found])


@batch.command()
@click.argument("name")
@click.option(
    "--outcomes",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Also what became of each row; lists them in a CSV file, - for here.",
)
@click.option("--file", "path", help="Where the file is now.")
@json_option
@pass_context
@click.pass_context
def show(
    command: click.Context,
    context: Context,
    name: str,
    outcomes: str | None,
    path: str | None,
    as_json: bool,
) -> None:
    """Shows a batch; with --outcomes what became of each of its rows.

    Exit code 5 where rows were published of which nothing is known.
    """
    with open_batches(context.settings) as batches:
        found = find_batch(batches, name)
        facts = _facts(found) | {"errors": batches.errors(name)}
        known = None
        if outcomes is not None:
            known = reconcile(context, batches, found, outcomes, path)
            facts |= reconciled(found, known)
    if as_json:
        print_json(facts)
    elif outcomes != "-":
        for key, value in facts.items():
            _tell(key, value)
    command.exit(PARTLY if known is not None and not facts["reconciled"] else 0)


def _tell(key: str, value: Any) -> None:
    if isinstance(value, dict):
        for name, number in value.items():
            say(f"{key:14} {number} {name}")
    elif isinstance(value, list):
        for item in value:
            say(f"{key:14} row {item['row']}, {item['id']}")
    elif value not in ("", None):
        say(f"{key:14} {value}")


@batch.command()
@click.argument("name")
@pass_context
def pause(context: Context, name: str) -> None:
    """Pauses a batch; whatever runs it stops within a second or two."""
    _order(context, name, PAUSED, (RUNNING,))


@batch.command()
@click.argument("name")
@pass_context
def cancel(context: Context, name: str) -> None:
    """Ends a batch for good. What was published is delivered all the same."""
    with open_desk(context.settings) as desk:
        found = find_batch(desk.batches, name)
        if found.state != CANCELLED or not is_replay(found):
            _order(context, name, CANCELLED, (RUNNING, PAUSED))
        if is_replay(found):
            cancel_replay(desk, name)
            if desk.replays.open_letters(name, 1):
                say("what it has in hand is brought to an end by the process that runs it;")
                say("if that is gone, repeat this in a minute")


def _order(context: Context, name: str, state: str, only: Iterable[str]) -> None:
    with open_batches(context.settings) as batches:
        if not batches.order(name, state, only):
            raise UsageError(f"batch {name} is {find_batch(batches, name).state}")
    say(f"{name}: {state}")


@batch.command()
@click.argument("name")
@click.option("--file", "path", help="Where the file is now, - for a pipe.")
@click.option("--no-wait", is_flag=True, help="Of a schedule: the beat goes on with it.")
@json_option
@pass_context
@click.pass_context
def resume(
    command: click.Context,
    context: Context,
    /,
    name: str,
    path: str | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Goes on with a batch that was paused, stopped or killed: a file, a replay, or a schedule's
    audience, with which the beat goes on once this is stopped.

    One that finished with failures publishes the rows that could not be published.
    """
    with open_batches(context.settings) as batches:
        found = find_batch(batches, name)
        if found.state in (CANCELLED, FINISHED):
            raise UsageError(f"batch {name} is {found.state}")
        if no_wait and not is_firing(found):
            raise UsageError(f"--no-wait: batch {name} is of no schedule; the beat does not run it")
        if is_replay(found):
            with open_desk(context.settings) as desk:
                command.exit(tell_finish(desk, resume_watched(desk, name), as_json=as_json))
        if is_firing(found):
            wait = not no_wait
            command.exit(resume_firing(context, name, path, wait=wait, as_json=as_json))
        with batch_file(context, found, path) as source:
            command.exit(report(batches, run_file(context, batches, name, source), as_json=as_json))


@batch.command("retry-failed")
@click.argument("name")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Letters a second.")
@click.option("--unknown", is_flag=True, help="Also what may have arrived: it may come twice.")
@click.option("--yes", is_flag=True, help="Do it; without this only count what would be done.")
@json_option
@pass_context
@click.pass_context
def retry_failed(
    command: click.Context,
    context: Context,
    /,
    name: str,
    rate: float | None,
    unknown: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Sends a batch's dead letters again, each under a new generation of its id.

    It is a replay: "dead replays" lists it.
    """
    with open_desk(context.settings) as desk:
        if is_replay(find_batch(desk.batches, name)):
            raise UsageError(
                f"{name} is a replay itself: notify batch resume {name} goes on with it"
            )
        order = Order(
            wanted=Filter(batch=name, limit=None),
            actor=user(),
            priority=OWN,
            rate=rate or 0.0,
            unknown=unknown,
        )
        plan = plan_replay(desk, order)
        if not plan.matching:
            facts = {"batch": name, "done": yes, "results": {}}
            print_json(facts) if as_json else say(f"{name} has no open dead letters")
            return
        if not yes:
            print_json(plan_facts(plan, order)) if as_json else tell_plan(plan, order)
            command.exit(PARTLY if plan.left_out else 0)
        command.exit(tell_finish(desk, run_order(desk, order), order, as_json=as_json))


def _facts(found: Batch) -> dict[str, Any]:
    running = found.owner is not None and lives(found)
    interrupted = found.state == RUNNING and not running
    return {
        "name": found.name,
        "state": _UNOWNED[is_firing(found)] if interrupted else found.state,
        "running": where(found) if running else "",
        "rows": found.total,
        "published": found.sent,
        "channels": dict(found.published),
        "rejected": found.rejected,
        "not_published": found.failed,
        "repeats_at_most": found.repeats,
        "cursor": found.cursor,
        "rate": found.rate or None,
        "source": "replay" if is_replay(found) else found.source.get("path", ""),
        **{key: found.source[key] for key in _OF_A_SCHEDULE if key in found.source},
        "actor": found.actor,
        "created_at": _time(found.created_at),
        "changed_at": _time(found.changed_at),
    }


def _time(value: datetime | None) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if value else ""
