"""``notify schedule fire``."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from notify.cli.audience_runs import (
    exit_code,
    find_firing,
    firing_facts,
    run_here,
    tell_firing,
)
from notify.cli.context import Context, json_option, pass_context, print_json, say
from notify.cli.schedule_facts import list_facts, utc
from notify.cli.schedule_options import opened, read_instant
from notify.errors import UsageError
from notify.publish import Client
from notify.schedule.audiences import Audiences
from notify.schedule.byhand import ByHand, Fired
from notify.schedule.truth import Truth
from notify.schedule.waiting import look_up
from notify.store.batches import Batch

_LAST: Final = "last"
_TICK: Final = timedelta(microseconds=1)


@click.command()
@click.argument("name")
@click.option(
    "--planned",
    metavar="INSTANT|last",
    help="In place of the beat: that planned instant, or the last one until now.",
)
@click.option("--early", is_flag=True, help="Although that instant is yet to come.")
@click.option("--yes", is_flag=True, help="Once more, without --planned: do it.")
@click.option("--no-wait", is_flag=True, help="The beat sends to the audience, not this command.")
@json_option
@pass_context
@click.pass_context
def fire(
    command: click.Context,
    context: Context,
    /,
    name: str,
    planned: str | None,
    early: bool,
    yes: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Fires a schedule now, beside its plan; or, with --planned, in place of the beat.

    Without --planned each call sends once more: a dry run until --yes. With it, an instant is
    fired once, whoever else does so, and everything up to it is over: exit code 0 also where
    that one was fired before, 1 where it was passed over, or something later was fired.
    An audience is sent to here, unless a beat does so already: 5 where rows were left out.
    """
    if early and planned is None:
        raise UsageError("--early: needs --planned")
    with (
        Audiences(context.settings) as audiences,
        opened(context) as truth,
        Client(context.settings) as client,
    ):
        byhand = ByHand(context.settings, truth, client, fanout=audiences)
        if planned is not None:
            fired = byhand.planned(name, _planned(truth, name, planned), early=early)
        elif yes:
            fired = byhand.once_more(name)
        else:
            _preview(truth, name, as_json)
            return
        batch = find_firing(audiences, fired.ref)
        if batch is not None and not no_wait:
            batch = run_here(audiences, batch.name)
    _tell(fired, batch, extra=planned is None, as_json=as_json)
    command.exit(exit_code(batch) if batch is not None else 0)


def _preview(truth: Truth, name: str, as_json: bool) -> None:
    truth.get(name)
    if as_json:
        print_json({"done": False, **list_facts(look_up(truth, name))})
    else:
        say(f"{name}: would be fired now, beside its plan; repeat with --yes")


def _tell(fired: Fired, batch: Batch | None, *, extra: bool, as_json: bool) -> None:
    facts: dict[str, Any] = {"id": fired.ref, "planned": fired.planned, "actual": fired.actual}
    if as_json:
        facts |= {"before": fired.before, "extra": extra}
        print_json(facts if batch is None else facts | {"batch": firing_facts(batch)})
        return
    when = f"planned {utc(fired.planned)} UTC"
    if fired.before:
        say(f"{fired.ref}: was fired {utc(fired.actual)} UTC ({when})")
    else:
        say(f"{fired.ref}: fired ({'beside the plan' if extra else when})")
    if batch is not None:
        tell_firing(batch)


def _planned(truth: Truth, name: str, text: str) -> datetime:
    if text == _LAST:
        last = truth.get(name).recurrence.last_before(datetime.now(UTC) + _TICK)
        if last is None:
            raise UsageError(f"--planned: {name} has planned nothing until now")
        return last
    return read_instant("--planned", text)
