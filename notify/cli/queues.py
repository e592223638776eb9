"""``notify queues``: what waits where."""

from typing import Any

import click

from notify import provision
from notify.cli.context import Context, json_option, pass_context, print_json, say
from notify.cli.tables import print_table
from notify.queuestate import ledger_alarms, queue_states


@click.command()
@json_option
@pass_context
def queues(context: Context, as_json: bool) -> None:
    """Shows ready, unacknowledged and waiting messages, consumers, and ages."""
    api = provision.management(context.settings)
    with context.ledger() as ledger:
        states = queue_states(context.settings, api, ledger)
        alarms = [*api.alarms(), *ledger_alarms(ledger.health())]
    if as_json:
        print_json({"queues": states, "alarms": alarms})
        return
    print_table(["queue", "ready", "unacked", "consumers", "oldest", ""], [_row(s) for s in states])
    for alarm in alarms:
        say(f"alarm: {alarm}")


def _row(state: dict[str, Any]) -> tuple[object, ...]:
    age = state["oldest_at_most"]
    notes = f"{state['held_back']} cannot leave this queue" if state["held_back"] else ""
    return (
        state["name"],
        state["ready"],
        state["unacknowledged"],
        state["consumers"],
        "" if age is None else f"at most {age:.0f} s",
        notes,
    )
