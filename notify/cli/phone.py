"""``notify phone``: how numbers are read."""

from typing import Any

import click

from notify import phones
from notify.cli.context import (
    FAILED,
    Context,
    json_option,
    pass_context,
    print_json,
    say,
)
from notify.cli.tables import print_table
from notify.errors import InvalidInput, InvalidNotification


@click.command()
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True)
@click.option("--region", help="Where they are written, such as DE (default: as configured).")
@json_option
@pass_context
@click.pass_context
def phone(
    command: click.Context,
    context: Context,
    /,
    numbers: tuple[str, ...],
    region: str | None,
    as_json: bool,
) -> None:
    """Shows how numbers are read; exit code 1 where one is not possible."""
    found = [_read(number, _region(context, region)) for number in numbers]
    if as_json:
        print_json({"metadata": phones.METADATA, "numbers": found})
    else:
        print_table(("number", "region", "kind", ""), [_row(each) for each in found])
        say(f"numbering plans: {phones.METADATA}")
    command.exit(0 if all(each["possible"] for each in found) else FAILED)


def _region(context: Context, given: str | None) -> str | None:
    if given is None:
        return context.settings.texts.default_region
    if not phones.is_region(given.upper()):
        raise InvalidInput('--region: must be a country or territory of ISO 3166, such as "DE"')
    return given.upper()


def _read(text: str, region: str | None) -> dict[str, Any]:
    try:
        found, problem = phones.normalise(text, region), ""
    except InvalidNotification as error:
        found, problem = None, error.problem
    return {
        "given": text,
        "possible": found is not None,
        "problem": problem,
        "number": found.number if found else None,
        "region": found.region if found else "",
        "kind": found.kind if found else "",
        "valid": found is not None and found.valid,
        "warning": found.warning if found else "",
    }


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    number = found["number"] or found["given"]
    return (number, found["region"], found["kind"], found["problem"] or found["warning"])
