"""``notify schedule show``."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import click

from notify.cli.context import Context, json_option, pass_context, print_json, say
from notify.cli.schedule_facts import show_facts, utc
from notify.cli.schedule_look import note_reveal, reveal_option
from notify.cli.schedule_options import opened
from notify.schedule.waiting import look_up


@click.command()
@click.argument("name")
@reveal_option
@json_option
@pass_context
def show(context: Context, name: str, reveal: bool, as_json: bool) -> None:
    """Shows a schedule: in words, what is next, what became of the last, who made it."""
    with opened(context) as truth:
        stored = look_up(truth, name)
        if reveal:
            note_reveal(context, f"schedule show {name}", 1)
        history = truth.history.of(name, limit=5)
        facts = show_facts(stored, truth.row(name), history, reveal=reveal)
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        for line in _LINES.get(key, _plain)(value):
            say(f"{key.replace('_', ' '):12} {line}")


def _plain(value: Any) -> Iterator[str]:
    if isinstance(value, datetime):
        yield f"{utc(value)} UTC"
    elif value not in (None, "", 0):
        yield str(value)


def _each(value: Any) -> Iterator[str]:
    yield from value


def _next(value: Any) -> Iterator[str]:
    for each in value:
        yield each["local"] + _noted(each["note"])


def _definition(value: Mapping[str, Any]) -> Iterator[str]:
    """But for what is told in words already."""
    for key, each in value.items():
        if key not in _TOLD:
            yield f"{key}: {each}"


def _history(value: Any) -> Iterator[str]:
    for each in value:
        lag = f", {each['lag_s']:g} s late" if each["outcome"] == "fired" else ""
        yield f"{utc(each['planned'])} UTC {each['outcome']}{lag}{_noted(each['note'])}"


def _noted(note: str) -> str:
    return f"  ({note})" if note else ""


_TOLD: Final = ("v", "name", "origin", "misfire", "channel", "recipient", "zone")
_LINES: Final[Mapping[str, Callable[[Any], Iterator[str]]]] = {
    "remarks": _each,
    "next": _next,
    "definition": _definition,
    "history": _history,
}
