"""What the value of a field may be, whichever channel it is for. Pure.

Each raises ``InvalidNotification`` that names the field, and never quotes the value.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from notify.errors import InvalidNotification

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MAX_LABELS: Final = 20
_MAX_LABEL_VALUE: Final = 256


def has_control(text: str) -> bool:
    """Whether it has control characters or line breaks, none of which can be printed."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def check_text(name: str, value: Any) -> None:
    if value is None and name != "recipient":
        return
    if not isinstance(value, str):
        raise InvalidNotification(name, "must be text")
    if value.isprintable():
        return  # neither what is refused here nor a control character
    if "\x00" in value:
        raise InvalidNotification(name, "must not contain NUL")
    check_encodable(name, value)


def check_encodable(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidNotification(name, "contains an unpaired surrogate") from None


def check_data(data: Any) -> int:
    """Bytes of its JSON form."""
    try:
        text = json.dumps(data, allow_nan=False, ensure_ascii=False)
        named_by_text = _has_text_keys(data)
    except (TypeError, ValueError, RecursionError):
        raise InvalidNotification("data", "must be a JSON value") from None
    if not named_by_text:
        raise InvalidNotification("data", "must have text for the names in objects")
    check_encodable("data", text)
    return len(text.encode())


def _has_text_keys(value: Any) -> bool:
    """JSON would turn other keys into text, and the digest of what arrives be another."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_text_keys(v) for key, v in value.items())
    return all(map(_has_text_keys, value)) if isinstance(value, list | tuple) else True


def check_labels(labels: Any) -> None:
    if labels == {}:
        return
    if not isinstance(labels, Mapping) or len(labels) > _MAX_LABELS:
        raise InvalidNotification("labels", f"must be at most {_MAX_LABELS} names with texts")
    for name, value in labels.items():
        if not isinstance(name, str) or not _LABEL.fullmatch(name):
            raise InvalidNotification("labels", "a name has characters other than A-Z a-z 0-9 _.-")
        if not isinstance(value, str) or len(value) > _MAX_LABEL_VALUE or has_control(value):
            raise InvalidNotification(
                "labels", f"{name} must be one line of at most {_MAX_LABEL_VALUE} characters"
            )
        check_encodable("labels", value)


def check_instant(name: str, value: Any, *, optional: bool) -> None:
    if value is None and optional:
        return
    if not isinstance(value, datetime):
        raise InvalidNotification(name, "must be a date and time")
    if value.utcoffset() is None:
        raise InvalidNotification(name, "must have a UTC offset")
