"""Our own message format for dead letters: versioned JSON."""

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from notify import message
from notify.deadletter.parsing import load
from notify.deadletter.value import DeadLetter, as_utc, canonical, fingerprint, one_line, valid_id
from notify.errors import InvalidNotification, MessageError
from notify.message import Message
from notify.notification import parse_instant

VERSION: Final = 1
CONTENT_TYPE: Final = "application/vnd.notify.dead+json"
TYPE: Final = "notify.dead"

_SAME_IN_JSON: Final = (
    *("id", "generation", "attempt", "digest", "channel", "priority", "recipient"),
    *("reason", "detail", "notification", "attempts", "labels", "trace"),
)


def encode(letter: DeadLetter, *, now: datetime) -> Message:
    """The message for the queue of the dead. Headers that came with ``letter`` stay behind."""
    headers = {
        message.GENERATION: letter.generation,
        message.ATTEMPT: letter.attempt,
        message.REASON: letter.reason,
    }
    optional = {message.ID: letter.id, message.TRACE: letter.trace}
    return Message(
        body=canonical(_to_dict(letter)),
        headers=headers | {name: value for name, value in optional.items() if value},
        properties=_properties(letter, now),
        routing_key=f"{letter.channel or 'unknown'}.{letter.priority or 'unknown'}",
    )


def _properties(letter: DeadLetter, now: datetime) -> dict[str, Any]:
    properties = {
        "content_type": CONTENT_TYPE,
        "content_encoding": "utf-8",
        "delivery_mode": 2,
        "timestamp": int(now.timestamp()),
        "type": TYPE,
    }
    return properties | ({"message_id": letter.id} if letter.id else {})


def _to_dict(letter: DeadLetter) -> dict[str, Any]:
    values = {name: getattr(letter, name) for name in _SAME_IN_JSON}
    values["dead_at"] = letter.dead_at.isoformat()
    values["first_queued"] = letter.first_queued.isoformat() if letter.first_queued else None
    values["raw"] = None if letter.raw is None else base64.b64encode(letter.raw).decode()
    return {"v": VERSION} | {name: value for name, value in values.items() if value is not None}


def decode(body: bytes) -> DeadLetter:
    """Raises ``MessageError``, naming the field."""
    values = load(body)
    if not isinstance(values, dict) or values.get("v") != VERSION:
        raise MessageError(f"is not a dead letter of version {VERSION}")
    letter = DeadLetter(**{name: _field(name, values.get(name)) for name in _READERS})
    if letter.id is None and letter.raw is None:
        raise MessageError("id: is missing")
    return letter if letter.digest else letter.evolve(digest=fingerprint(body))


def _field(name: str, value: Any) -> Any:
    try:
        return _READERS[name](value)
    except (TypeError, ValueError, InvalidNotification):
        raise MessageError(f"{name}: is missing or not as it should be") from None


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _id(value: Any) -> str:
    return _text(valid_id(value))


def _reason(value: Any) -> str:
    """Of the closed set, or of the set of a later version."""
    if not _text(value).isidentifier() or len(value) > 64:
        raise ValueError
    return str(value)


def _counter(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise ValueError
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _labels(value: Any) -> dict[str, str]:
    return {name: _text(text) for name, text in _object(value or {}).items()}


def _attempts(value: Any) -> tuple[dict[str, Any], ...]:
    return tuple(_object(attempt) for attempt in value or ())


def _time(value: Any) -> datetime:
    time = parse_instant("time", value)
    if time.utcoffset() is None:
        raise ValueError
    return as_utc(time)


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("channel", "priority", "recipient", "digest", "trace"), _optional(_text)),
    **dict.fromkeys(("generation", "attempt"), _counter),
    "id": _optional(_id),
    "reason": _reason,
    "detail": lambda value: one_line(_text(value or "")),
    "notification": _optional(_object),
    "attempts": _attempts,
    "labels": _labels,
    "first_queued": _optional(_time),
    "dead_at": _time,
    "raw": _optional(lambda value: base64.b64decode(value, validate=True)),
}
