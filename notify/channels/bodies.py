"""Reads the JSON bodies of answers: the gateway's id, and what its rules say. Pure."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from notify.config.answers import AnswerRule

_PROVIDER_ID: Final = re.compile(r"[ -~]{1,64}")
_UNREADABLE: Final = object()


class Unreadable(Exception):
    """A rule that could decide is about a field, and the body cannot be read."""


def find_id(body: bytes, path: str) -> str:
    """The gateway's id at a path such as ``messages.0.id``; empty if there is none."""
    value = _find(_decode(body), path)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)
    return text if _PROVIDER_ID.fullmatch(text) else ""


def read(body: bytes) -> Any:
    """The JSON value of a body. Raises ``Unreadable``."""
    value = _decode(body)
    if value is _UNREADABLE:
        raise Unreadable
    return value


def find(value: Any, path: str) -> Any:
    """What stands at a path such as ``messages.0.id``; None if nothing does."""
    return _find(value, path)


def same(value: Any, wanted: bool | int | float | str) -> bool:
    """Whether a gateway's code is this one, be it written as a number or as text."""
    return _same(value, wanted)


def first_match(
    rules: Sequence[AnswerRule], status: int, body: bytes | None
) -> tuple[int, AnswerRule] | None:
    """The first rule that holds, with its number counted from 1.

    ``body`` is None if it did not arrive whole. Raises ``Unreadable`` when a rule about a
    field applies to the status of a success, but the body is not there to be looked at; a
    failure has rules about its status only then.
    """
    decoded = _UNREADABLE if body is None else _decode(body)
    for number, rule in enumerate(rules, 1):
        if rule.status is not None and status not in rule.status:
            continue
        if rule.field is None:
            return number, rule
        if decoded is _UNREADABLE:
            if 200 <= status <= 299:
                raise Unreadable
            continue
        if _holds(rule, _find(decoded, rule.field)):
            return number, rule
    return None


def _holds(rule: AnswerRule, value: Any) -> bool:
    if value is None:
        return False
    if rule.values is not None:
        return any(_same(value, wanted) for wanted in rule.values)
    return not any(_same(value, other) for other in rule.not_values or ())


def _same(value: Any, wanted: bool | int | float | str) -> bool:
    """Gateways write a code as a number or as text: ``"0"`` is 0. But 1 is not true."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if not isinstance(value, int | float | str):
        return False
    return _as_text(value) == _as_text(wanted)


def _as_text(value: int | float | str) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _find(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = _step(value, step)
    return value


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isascii() and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None
