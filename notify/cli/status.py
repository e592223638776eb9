"""``notify status``: what happened to one notification."""

import click

from notify.cli.context import FAILED, Context, json_option, pass_context, print_json, say
from notify.schedule.truth import Truth
from notify.schedule.waiting import waiting
from notify.story import story, tell


@click.command()
@click.argument("id")
@json_option
@pass_context
@click.pass_context
def status(command: click.Context, context: Context, id: str, as_json: bool) -> None:
    """Tells what happened to a notification, or when it is to be sent.

    Exit code 1 where nothing is known of it.
    """
    with (
        context.ledger() as ledger,
        context.store() as store,
        Truth(context.settings) as truth,
    ):
        facts = story(id, ledger, store, waiting(truth, id))
    if as_json:
        print_json(facts)
    else:
        say(tell(facts))
    command.exit(FAILED if facts["state"] == "not found" else 0)
