"""``notify dead``: the dead-letter archive."""

import getpass
from functools import partial

import click

from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
)
from notify.cli.dead_find import count, list_, note_reveal
from notify.cli.dead_out import export, purge
from notify.codes import meaning
from notify.deadstory import story_facts, tell
from notify.errors import InvalidInput, NotFound
from notify.notification import PRIORITIES
from notify.replay import Replayed, Replayer
from notify.store import ArchivedLetter, Store


@click.group()
def dead() -> None:
    """Notifications that could not be delivered: find, understand, send again."""


dead.add_command(list_)
dead.add_command(count)
dead.add_command(export)
dead.add_command(purge)


@dead.command()
@click.argument("key", metavar="ID|NO.")
@click.option("--reveal", is_flag=True, help="Show recipient and content. Who did so is noted.")
@json_option
@pass_context
def show(context: Context, key: str, reveal: bool, as_json: bool) -> None:
    """Tells the story of a dead letter, by notification id or number."""
    with context.store() as store:
        rows = _rows(store, key)
        if reveal:
            note_reveal(store, "dead show", rows)
        explain = partial(meaning, context.settings)
        facts = [story_facts(row, store.replays_of(row.seq), explain, reveal) for row in rows]
    if as_json:
        print_json(facts)
        return
    say("\n\n".join(map(tell, facts)))


@dead.command()
@click.argument("keys", nargs=-1, required=True, metavar="ID|NO. ...")
@click.option("--priority", type=click.Choice(PRIORITIES), default="normal", show_default=True)
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
@click.pass_context
def replay(
    command: click.Context,
    context: Context,
    keys: tuple[str, ...],
    priority: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Sends dead letters again under a new generation: once, whoever asks how often."""
    with (
        context.store() as store,
        context.ledger() as ledger,
        context.publisher() as publisher,
        context.blocklist() as blocklist,
    ):
        rows = [_latest(store, key) for key in keys]
        results = [
            (_replay if yes else _preview)(
                Replayer(
                    store=store,
                    ledger=ledger,
                    publisher=publisher,
                    blocklist=blocklist,
                    retention=_retention(context, row),
                    actor=getpass.getuser(),
                    priority=priority,
                ),
                row,
            )
            for row in rows
        ]
    _report(results, yes, as_json)
    command.exit(0 if all(result.ok for result in results) else PARTLY)


def _replay(replayer: Replayer, row: ArchivedLetter) -> Replayed:
    return replayer.replay(row)


def _preview(replayer: Replayer, row: ArchivedLetter) -> Replayed:
    return Replayed(seq=row.seq, id=row.letter.id or "", note=replayer.refusal(row))


def _report(results: list[Replayed], done: bool, as_json: bool) -> None:
    if as_json:
        keys = ("seq", "id", "generation", "note", "ok")
        print_json({"done": done, "results": [{k: getattr(r, k) for k in keys} for r in results]})
        return
    words = "replayed" if done else "would be replayed"
    for result in results:
        say(f"{result.seq} {result.id}: {result.note or words}")
    if not done:
        say("nothing was sent; repeat with --yes")


def _rows(store: Store, key: str) -> list[ArchivedLetter]:
    # An id may consist of digits too; what is so long is no number of a row.
    is_number = key.isdecimal() and len(key) <= 18
    rows = (store.get(int(key)) if is_number else []) or store.get(key)
    if not rows:
        raise NotFound(f"there is no dead letter {key!r}")
    return rows


def _latest(store: Store, key: str) -> ArchivedLetter:
    return max(_rows(store, key), key=lambda row: (row.letter.generation, row.seq))


def _retention(context: Context, row: ArchivedLetter) -> float:
    channels = context.settings.channels
    if row.letter.channel not in channels:
        raise InvalidInput(f"dead letter {row.seq}: its channel is not configured")
    return context.settings.channel(row.letter.channel).send.retention


COMMANDS = (dead,)
