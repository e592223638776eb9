"""JSON from strangers: strict where Python's is lenient, and never too deep to write again."""

import json
from typing import Any, Final, NoReturn

from notify.errors import MessageError

# Python's JSON encoder gives up near a thousand levels.
_MAX_LEVELS: Final = 400


def load(body: bytes) -> Any:
    """Raises ``MessageError`` for what is not JSON that can be written again."""
    try:
        value = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MessageError("body is not JSON") from None
    # Nearly all have fewer brackets than levels are allowed, and need not be walked through.
    brackets = body.count(b"[") + body.count(b"{")
    if brackets > _MAX_LEVELS and _deeper_than(_MAX_LEVELS, value):
        raise MessageError(f"body is nested more than {_MAX_LEVELS} levels deep")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _deeper_than(levels: int, value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return False
    return levels == 0 or any(_deeper_than(levels - 1, item) for item in inner)
