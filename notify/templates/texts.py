"""Values that come as text, from an option or a file, read as their declared types."""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from notify.templates.values import Variable, WrongValue

_BOOLEANS: Final = {"true": True, "false": False}


def read_texts(variables: Mapping[str, Variable], texts: Mapping[str, str]) -> dict[str, Any]:
    """Values by name; what is not declared is left for the check that follows.

    Raises ``WrongValue`` with the name as place.
    """
    return {name: _read_named(name, variables.get(name), text) for name, text in texts.items()}


def _read_named(name: str, variable: Variable | None, text: str) -> Any:
    if variable is None:
        return text
    try:
        return _read(variable, text)
    except ValueError:
        raise WrongValue(_WANTED[variable.kind], name) from None


def _read(variable: Variable, text: str) -> Any:
    reader = _READERS.get(variable.kind)
    if variable.kind == "list":
        return _read_list(variable, text)
    return text if reader is None else reader(text)


def _read_list(variable: Variable, text: str) -> list[Any]:
    try:
        items = json.loads(text, parse_float=Decimal)
    except RecursionError:
        raise ValueError from None
    if not isinstance(items, list):
        raise ValueError
    return [_read_item(variable, item) for item in items]


def _read_item(variable: Variable, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _typed(variable.fields.get(name), item) for name, item in value.items()}
    return _typed(variable.item, value)


def _typed(variable: Variable | None, value: Any) -> Any:
    """In JSON only dates come as text: a number in quotes is not a number."""
    if variable is not None and variable.kind in ("date", "datetime") and isinstance(value, str):
        return _read(variable, value)
    return value


def _integer(text: str) -> int:
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 17):
        raise ValueError
    return int(text)


def _number(text: str) -> Decimal:
    whole, _, places = text.removeprefix("-").partition(".")
    plain = (whole + places).isdigit() and text.isascii() and len(text) <= 32
    if not plain or text.endswith(".") or not whole:
        raise ValueError
    return Decimal(text)


def _boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[text]


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "boolean": _boolean,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "integer": _integer,
    "number": _number,
}
_WANTED: Final = {
    "boolean": "must be true or false",
    "date": "must be a date like 2027-03-01",
    "datetime": "must be a date and time like 2027-03-01T09:00:00+01:00",
    "integer": "must be a whole number",
    "list": "must be a list in JSON, with dates and times in ISO 8601",
    "number": "must be a number like 1234.50",
}
