"""A message's headers made fit for JSON: they may hold anything that AMQP can carry."""

import base64
import json
import math
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

_MAX_BYTES: Final = 16_384
_MAX_LEVELS: Final = 6
_MAX_NAME: Final = 128
DROPPED: Final = "notify-dropped"


def context(headers: Mapping[Any, Any]) -> dict[str, Any]:
    """At most 16 kB of JSON: the largest headers go first, and their number is noted."""
    safe = {_name(name): _plain(value, _MAX_LEVELS) for name, value in headers.items()}
    if len(json.dumps(safe)) + len(json.dumps({DROPPED: len(safe)})) <= _MAX_BYTES:
        return safe
    sizes = {name: len(json.dumps({name: value})) for name, value in safe.items()}
    total, kept = len(json.dumps({DROPPED: len(sizes)})), set()
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        total += sizes[name]
        if total > _MAX_BYTES:
            break
        kept.add(name)
    dropped = {DROPPED: len(safe) - len(kept)} if len(kept) < len(safe) else {}
    return {name: value for name, value in safe.items() if name in kept} | dropped


def _name(name: Any) -> str:
    text = name if isinstance(name, str) else repr(name)
    return text[:_MAX_NAME]


def _plain(value: Any, levels: int) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return {"base64": base64.b64encode(value).decode()}
    return _nested(value, levels)


def _number(value: int | float | Decimal) -> Any:
    """Numbers that every JSON reader reads as they are; others as text."""
    if isinstance(value, int):
        # pika's own subclass of int would be written as "1L" by some encoders.
        return int(value) if abs(value) < 2**63 else hex(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)


def _nested(value: Any, levels: int) -> Any:
    if levels == 0:
        return "…"
    if isinstance(value, Mapping):
        return {_name(name): _plain(item, levels - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, levels - 1) for item in value]
    return f"<{type(value).__name__}>"
