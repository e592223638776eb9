"""``notify dead``: the dead-letter archive."""

from contextlib import closing
from functools import partial

import click

from notify.care.rules import told
from notify.cli.context import Context, json_option, pass_context, print_json, say
from notify.cli.dead_find import count, list_, note_reveal
from notify.cli.dead_out import export, purge
from notify.cli.dead_replay import replay, replays, rows_of
from notify.codes import meaning
from notify.deadstory import story_facts, tell
from notify.replay import open_desk
from notify.replay.history import became, made_by, replays_of
from notify.store.care import CareBook


@click.group()
def dead() -> None:
    """Notifications that could not be delivered: find, understand, send again."""


dead.add_command(list_)
dead.add_command(count)
dead.add_command(export)
dead.add_command(purge)
dead.add_command(replay)
dead.add_command(replays)


@dead.command()
@click.argument("key", metavar="ID|NO.")
@click.option("--reveal", is_flag=True, help="Show recipient and content. Who did so is noted.")
@json_option
@pass_context
def show(context: Context, key: str, reveal: bool, as_json: bool) -> None:
    """Tells the story of a dead letter, by notification id or number."""
    with open_desk(context.settings) as desk, closing(CareBook(desk.settings.archive.url)) as book:
        rows = rows_of(desk.store, key)
        if reveal:
            note_reveal(desk.store, "dead show", rows)
        explain = partial(meaning, context.settings)
        facts = [
            story_facts(row, replays_of(row, desk.store, desk.replays), explain, reveal)
            | {"made_by": made_by(row, desk.replays), "became": became(row, desk.ledger)}
            | {"care": told(book.case(row.seq))}
            for row in rows
        ]
    if as_json:
        print_json(facts)
        return
    say("\n\n".join(map(tell, facts)))
