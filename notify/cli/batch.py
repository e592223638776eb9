"""``notify batch``: what is published as a batch, and what became of it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click

from notify.batch import lives, open_batches, where
from notify.cli.batch_rows import batch_file, find_batch, reconcile, reconciled
from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pass_context,
    print_json,
    print_table,
    say,
    user,
)
from notify.cli.sendfile import report, run_file
from notify.errors import UsageError
from notify.replay import Replayed, Replayer
from notify.store import ArchivedLetter
from notify.store.batches import CANCELLED, FINISHED, PAUSED, RUNNING, Batch
from notify.store.batchletters import batch_letters


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
    _order(context, name, CANCELLED, (RUNNING, PAUSED))


def _order(context: Context, name: str, state: str, only: Iterable[str]) -> None:
    with open_batches(context.settings) as batches:
        if not batches.order(name, state, only):
            raise UsageError(f"batch {name} is {find_batch(batches, name).state}")
    say(f"{name}: {state}")


@batch.command()
@click.argument("name")
@click.option("--file", "path", help="Where the file is now, - for a pipe.")
@json_option
@pass_context
@click.pass_context
def resume(
    command: click.Context, context: Context, name: str, path: str | None, as_json: bool
) -> None:
    """Goes on with a batch that was paused, stopped or killed, from its file.

    One that finished with failures publishes the rows that could not be published.
    """
    with open_batches(context.settings) as batches:
        found = find_batch(batches, name)
        if found.state in (CANCELLED, FINISHED):
            raise UsageError(f"batch {name} is {found.state}")
        with batch_file(context, found, path) as source:
            command.exit(report(batches, run_file(context, batches, name, source), as_json=as_json))


@batch.command("retry-failed")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do it; without this only count what would be done.")
@json_option
@pass_context
@click.pass_context
def retry_failed(
    command: click.Context, context: Context, name: str, yes: bool, as_json: bool
) -> None:
    """Sends a batch's dead letters again, each under a new generation of its id."""
    with open_batches(context.settings) as batches:
        found = find_batch(batches, name)
    with _replayers(context) as replayer:
        letters = batch_letters(context.settings.archive.url, name)
        counts = _count(_replayed(replayer(letter), letter, yes) for letter in letters)
    if as_json:
        print_json({"batch": name, "done": yes, "results": counts})
    else:
        for result, number in counts.items():
            say(f"{number} {result}")
        say(_after_retry(found, counts, yes))
    command.exit(0 if set(counts) <= {"replayed", "would be replayed"} else PARTLY)


def _after_retry(found: Batch, counts: dict[str, int], yes: bool) -> str:
    if not counts:
        return f"{found.name} has no dead letters that were not replayed"
    return "done" if yes else "nothing was sent; repeat with --yes"


@contextmanager
def _replayers(context: Context) -> Iterator[Callable[[ArchivedLetter], Replayer]]:
    with (
        context.store() as store,
        context.ledger() as ledger,
        context.publisher() as publisher,
        context.blocklist() as blocklist,
    ):

        def replayer(letter: ArchivedLetter) -> Replayer:
            channel = context.settings.channel(letter.letter.channel or "")
            return Replayer(
                store=store,
                ledger=ledger,
                publisher=publisher,
                blocklist=blocklist,
                retention=channel.send.retention,
                actor=user(),
                priority=letter.letter.priority or "normal",
            )

        yield replayer


def _replayed(replayer: Replayer, letter: ArchivedLetter, yes: bool) -> str:
    if not yes:
        return replayer.refusal(letter) or "would be replayed"
    result: Replayed = replayer.replay(letter)
    return result.note or "replayed"


def _count(results: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result] = counts.get(result, 0) + 1
    return counts


def _facts(found: Batch) -> dict[str, Any]:
    running = found.owner is not None and lives(found)
    interrupted = found.state == RUNNING and not running
    return {
        "name": found.name,
        "state": "interrupted" if interrupted else found.state,
        "running": where(found) if running else "",
        "rows": found.total,
        "published": found.sent,
        "channels": dict(found.published),
        "rejected": found.rejected,
        "not_published": found.failed,
        "repeats_at_most": found.repeats,
        "cursor": found.cursor,
        "rate": found.rate or None,
        "source": found.source.get("path", ""),
        "actor": found.actor,
        "created_at": _time(found.created_at),
        "changed_at": _time(found.changed_at),
    }


def _time(value: datetime | None) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if value else ""


COMMANDS = (batch,)
