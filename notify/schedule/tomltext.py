"""Values as TOML 1.0, which the standard library reads but does not write."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, Final

from notify.errors import InvalidInput

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_LONG: Final = 72


def table(name: str, values: Mapping[str, Any]) -> str:
    """A table with its keys in the order given; tables within are written on one line.

    Raises ``InvalidInput`` for what TOML cannot say, naming the key.
    """
    lines = [f"[{_key(name)}]"]
    for key, value in values.items():
        lines.append(f"{_key(key)} = {_value(value, f'{name}.{key}')}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _line(name)


def _value(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _number(value, place)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        items = (f"{_key(str(key))} = {_value(v, f'{place}.{key}')}" for key, v in value.items())
        return f"{{ {', '.join(items)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return _list([_value(each, f"{place}.{n}") for n, each in enumerate(value)])
    raise InvalidInput(f"{place}: TOML has no null; write JSON Lines instead")


def _number(value: float, place: str) -> str:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInput(f"{place}: is too large for TOML; write JSON Lines instead")
    return repr(value)


def _list(items: list[str]) -> str:
    line = f"[{', '.join(items)}]"
    if len(line) <= _LONG:
        return line
    return "[\n" + "".join(f"  {each},\n" for each in items) + "]"


def _text(text: str) -> str:
    """Several lines as such, where nothing in them has a meaning of its own."""
    plain = "\\" not in text and '"""' not in text and not text.endswith('"')
    if "\n" in text and plain and all(c == "\n" or (c >= " " and c != "\x7f") for c in text):
        return f'"""\n{text}"""'
    return _line(text)


def _line(text: str) -> str:
    # JSON escapes what TOML wants escaped, but for DEL; characters beyond ASCII stay.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
