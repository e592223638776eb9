"""``notify dead replay``: dead letters are sent again, and ``replays``: what came of that."""

from pathlib import Path
from typing import Any, Final

import click

from notify.cli.context import (
    PARTLY,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.dead_find import chosen, filter_options
from notify.cli.replaying import (
    letter_facts,
    plan_facts,
    run_facts,
    run_order,
    tell_finish,
    tell_plan,
)
from notify.cli.tables import print_table
from notify.config.types import parse_duration
from notify.errors import InvalidInput, NotFound, UsageError
from notify.notification import PRIORITIES
from notify.replay import OWN, Desk, Edits, Order, open_desk, plan_replay
from notify.replay.planning import meant
from notify.replay.running import finished
from notify.store import ArchivedLetter, Filter, Store
from notify.store.replayrows import ReplayLetter

_PAGE: Final = 500
_SHOWN: Final = 50
_COLUMNS: Final = {
    "number": "turn",
    "seq": "no.",
    "id": "id",
    "generation": "generation",
    "result": "result",
    "note": "note",
}
_ORDER: Final = (
    *("rate", "at_most", "unknown", "priority", "through", "to", "subject", "body"),
    *("expires_in", "name", "everything"),
)


@click.command()
@click.argument("keys", nargs=-1, metavar="[ID|NO. ...]")
@filter_options
@click.option("--all", "everything", is_flag=True, help="All open dead letters.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Letters a second.")
@click.option("--at-most", type=click.IntRange(1), help="So many, the oldest first.")
@click.option("--unknown", is_flag=True, help="Also what may have arrived: it may come twice.")
@click.option(
    "--priority",
    type=click.Choice([*PRIORITIES, OWN]),
    default="normal",
    show_default=True,
    help=f"{OWN}: the one that each had.",
)
@click.option("--with-provider", "through", default="", help="Through this one first.")
@click.option("--new-recipient", "to", help="Corrects the recipient of one letter.")
@click.option("--new-subject", "subject", help="Corrects the subject of one letter.")
@click.option("--new-body", "body", metavar="TEXT|@FILE", help="Corrects the body of one letter.")
@click.option("--expires-in", metavar="TIME", help="For what expires: from its turn, as 2h.")
@click.option("--name", default="", help="Of this replay (default: one is made up).")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
@click.pass_context
def replay(
    command: click.Context,
    context: Context,
    /,
    keys: tuple[str, ...],
    yes: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Sends dead letters again, each once, under a new generation of its id.

    Which ones: by id or number, or by the options of "dead list"; of the letters that these
    match, the open ones, unless --state says otherwise. They are fixed when it begins. What was
    delivered since, is on its way or may have arrived is left out, and said.

    One that was interrupted goes on with the same command, or with "batch resume NAME".
    """
    given = {name: options.pop(name) for name in _ORDER}
    _check_which(keys, options, given["everything"])
    with open_desk(context.settings) as desk:
        order = _order(desk, keys, options, given)
        if not yes:
            plan = plan_replay(desk, order)
            print_json(plan_facts(plan, order)) if as_json else tell_plan(plan, order)
            command.exit(PARTLY if plan.left_out else 0)
        command.exit(tell_finish(desk, run_order(desk, order), order, as_json=as_json))


def _check_which(keys: tuple[str, ...], wanted: dict[str, Any], everything: bool) -> None:
    filtered = any(value not in (None, ()) for value in wanted.values())
    if bool(keys) + filtered + everything != 1:
        raise UsageError(
            "say which dead letters: ids or numbers, or a filter such as --reason, or --all"
        )


def _order(
    desk: Desk, keys: tuple[str, ...], wanted: dict[str, Any], given: dict[str, Any]
) -> Order:
    letters: Filter | tuple[int, ...] = chosen(wanted, limit=None)
    if keys:
        found = [latest(desk.store, key) for key in keys]
        letters = tuple(dict.fromkeys(row.seq for row in found))
    order = Order(
        wanted=letters,
        actor=user(),
        edits=_edits(given),
        unknown=given["unknown"],
        priority=given["priority"],
        rate=given["rate"] or 0.0,
        at_most=given["at_most"],
        name=given["name"],
    )
    meaning = meant(order)
    if isinstance(meaning, Filter) and not desk.store.count(meaning, 1):
        raise NotFound(f"no {'open ' if meaning.state == 'open' else ''}dead letter matches")
    return order


def _edits(given: dict[str, Any]) -> Edits:
    return Edits(
        provider=given["through"],
        recipient=given["to"],
        subject=given["subject"],
        body=_text(given["body"]),
        expires_in=_seconds(given["expires_in"]),
    )


def _text(given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    path = Path(given[1:])
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8") from error


def _seconds(given: str | None) -> float | None:
    if given is None:
        return None
    try:
        return parse_duration(given)
    except (ValueError, OverflowError):
        raise UsageError('--expires-in: must be a time such as "2h"') from None


def rows_of(store: Store, key: str) -> list[ArchivedLetter]:
    """By number or by id. Raises ``NotFound``."""
    # An id may consist of digits too; what is so long is no number of a row.
    is_number = key.isdecimal() and len(key) <= 18
    rows = (store.get(int(key)) if is_number else []) or store.get(key)
    if not rows:
        raise NotFound(f"there is no dead letter {key!r}")
    return rows


def latest(store: Store, key: str) -> ArchivedLetter:
    return max(rows_of(store, key), key=lambda row: (row.letter.generation, row.seq))


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@json_option
@pass_context
@click.pass_context
def replays(command: click.Context, context: Context, limit: int, as_json: bool) -> None:
    """Lists replays, newest first: who, when, which letters, and what came of them."""
    if command.invoked_subcommand is not None:
        return
    with open_desk(context.settings) as desk:
        facts = [run_facts(finished(desk, run.name)) for run in desk.replays.latest(limit)]
    if as_json:
        print_json(facts)
        return
    columns = ("name", "at", "actor", "state", "letters", "sent", "left_out", "failed", "filter")
    rows = [[_cell(each[column]) for column in columns] for each in facts]
    print_table([column.replace("_", " ") for column in columns], rows)


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        counts = all(isinstance(number, int) for number in value.values())
        if counts:
            return sum(value.values())
        return ", ".join(f"{name} {text}" for name, text in value.items())
    return value


@replays.command()
@click.argument("name")
@click.option("--result", help="Only letters with this result, such as taken.")
@click.option("--limit", type=click.IntRange(1), help="So many letters (default: all as JSON).")
@json_option
@pass_context
def show(context: Context, name: str, result: str | None, limit: int | None, as_json: bool) -> None:
    """Shows a replay, and what came of each of its letters."""
    with open_desk(context.settings) as desk:
        if desk.replays.get(name) is None:
            raise NotFound(f"there is no replay {name}")
        facts = run_facts(finished(desk, name))
        most = limit if limit is not None or as_json else _SHOWN
        letters = [letter_facts(each) for each in _letters(desk, name, result, most)]
    if as_json:
        print_json(facts | {"results": letters})
        return
    for key, value in facts.items():
        if value not in ("", None, {}):
            say(f"{key.replace('_', ' '):10} {_spelled(value)}")
    print_table(list(_COLUMNS.values()), [[each[name] for name in _COLUMNS] for each in letters])


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_spelled(each)}" for name, each in value.items())
    return value


def _letters(desk: Desk, name: str, result: str | None, most: int | None) -> list[ReplayLetter]:
    found: list[ReplayLetter] = []
    after = 0
    while page := desk.replays.letters(name, after, _PAGE):
        found += [each for each in page if result in (None, each.result)]
        if most is not None and len(found) >= most:
            return found[:most]
        after = page[-1].number
    return found
