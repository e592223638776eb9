"""JSON templates: a value is a whole JSON value, never a part of a text or a name."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from notify.templates.filters import Unrenderable
from notify.templates.pieces import STATEMENT, VALUE, Pieces
from notify.templates.sources import Source

_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_MARKS: Final = re.compile(f"[{VALUE}{STATEMENT}]")
_NAME: Final = re.compile(f"{VALUE}[\\s{STATEMENT}]*:")


def check_json(source: Source, pieces: Pieces) -> Iterator[str]:
    """Every problem with file and line."""
    outside = list(pieces.text)
    for match in _STRING.finditer(pieces.text):
        outside[match.start() : match.end()] = "-" * len(match[0])
        if _MARKS.search(match[0]):
            problem = 'a value stands in quotes: write {{ "text " ~ value }} without them'
            yield source.at(pieces.line_at(match.start()), problem)
    rest = "".join(outside)
    if '"' in rest:
        yield source.at(pieces.line_at(rest.index('"')), "a text is not closed on its line")
    for match in _NAME.finditer(rest):
        problem = "a value cannot be the name of a field"
        yield source.at(pieces.line_at(match.start()), problem)


def read_json(text: str) -> Any:
    """Raises ``Unrenderable``, never quoting the text."""
    try:
        return _unmarked(json.loads(text, object_pairs_hook=_fields, parse_constant=_refuse))
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON with these values: {error.msg} at line {error.lineno}"
        raise Unrenderable(problem) from None
    except RecursionError:
        raise Unrenderable("is nested too deep") from None


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if any(name.startswith(VALUE) for name in found):
        raise Unrenderable("a value cannot be the name of a field")
    if len(found) < len(pairs):
        raise Unrenderable("a field stands there twice")
    return found


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return value.removeprefix(VALUE) if isinstance(value, str) else value


def _refuse(_name: str) -> Any:
    raise Unrenderable("has a number that is none")
