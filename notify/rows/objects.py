"""Notifications from JSON Lines: one object a line, with the fields of a notification."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from notify.notification import VERSION, Notification
from notify.rows.lines import LONGEST_LINE, Cut
from notify.rows.making import UNDECODED, VARIABLE, Maker, Row, undecoded

_VARIABLES: Final = "var"
_FIELDS: Final = frozenset(item.name for item in fields(Notification)) - {"template_version"}
_BESIDE_TEMPLATE: Final = frozenset(
    ("id", "channel", "recipient", "priority", "expires_at", "labels", "unsubscribe", "template")
)
_KEY: Final = re.compile(r'"([A-Za-z_]{1,32})"\s*:')


def read_objects(
    lines: Iterable[str],
    maker: Maker,
    *,
    defaults: Mapping[str, str] | None = None,
    after: int = 0,
) -> Iterator[Row]:
    """The rows of a JSON Lines file; those up to line ``after`` are passed over.

    An object has a notification's fields, or ``template`` and its variables in ``var``.
    ``defaults`` are values by column of a CSV file.
    """
    for number, line in enumerate(lines, 1):
        if number <= after or not line.strip():
            continue
        yield _row(number, line, maker, defaults or {})


def _row(number: int, line: str, maker: Maker, defaults: Mapping[str, str]) -> Row:
    if isinstance(line, Cut):
        problem = f"the row has more than {LONGEST_LINE} characters"
        return Row(number=number, column=_longest(line), problem=problem)
    if undecoded(line):
        return Row(number=number, problem=UNDECODED)
    try:
        values = json.loads(line.strip())
    except (ValueError, RecursionError) as error:
        return Row(number=number, problem=f"is not valid JSON: {_place(error)}")
    if not isinstance(values, dict):
        return Row(number=number, problem="is no JSON object")
    return _made(number, values, maker, defaults)


def _made(number: int, values: dict[str, Any], maker: Maker, defaults: Mapping[str, str]) -> Row:
    fixed = {k: v for k, v in defaults.items() if not k.startswith(VARIABLE)}
    variables = {k.removeprefix(VARIABLE): v for k, v in defaults.items() if k.startswith(VARIABLE)}
    own = values.pop(_VARIABLES, {})
    values = fixed | values
    if not isinstance(own, dict):
        return Row(number=number, column=_VARIABLES, problem="must be an object")
    if values.pop("v", VERSION) != VERSION:
        return Row(number=number, column="v", problem=f"must be {VERSION}")
    for name in values:
        problem = _misplaced(name, "template" in values)
        if problem:
            return Row(number=number, column=_shown(name), problem=problem)
    return maker.row(number, values, variables | own)


def _misplaced(name: str, with_template: bool) -> str:
    if name not in _FIELDS:
        return "is not a field of a notification"
    if with_template and name not in _BESIDE_TEMPLATE:
        return "does not go with a template"
    return ""


def _shown(name: str) -> str:
    return name if _KEY.fullmatch(f'"{name}":') else "of another name"


def _longest(text: str) -> str:
    """The name whose value seems to be the longest."""
    found = [*_KEY.finditer(text)]
    ends = [*(match.start() for match in found[1:]), len(text)]
    lengths = {match[1]: end - match.end() for match, end in zip(found, ends, strict=True)}
    return max(lengths, key=lambda name: lengths[name], default="")


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "too deeply nested"
