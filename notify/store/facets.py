"""What of a dead letter is searched for, beside its own fields. Pure.

The migrations use this for letters that were archived before: what a value means stays as it is.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from notify.spelling import digest

_ROW: Final = re.compile(r"(.+):[0-9]+")
_OCCURRENCE: Final = re.compile(r"schedule:([a-z0-9][a-z0-9_-]*):.+")
# A row of a schedule's audience: its batch is named after the schedule and the planned instant.
_AUDIENCE: Final = re.compile(
    r"schedule-([a-z0-9][a-z0-9_-]*)-\d{8}T\d{6}(?:\d{6})?Z:\d+", re.ASCII
)
_BATCH: Final = "batch"
_MAX_WORDS: Final = 4000
_MAX_NAME: Final = 64
MAX_VALUE: Final = 256


def facets(
    *,
    id: str | None,
    channel: str | None,
    recipient: str | None,
    detail: str,
    notification: Mapping[str, Any] | None,
    attempts: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
) -> dict[str, str | None]:
    """A value for each column; None where there is none. Never raises."""
    last = attempts[-1] if attempts else {}
    content = notification or {}
    return {
        "code": _text(last.get("code")),
        "template": _text(content.get("template")),
        "batch": batch_of(id, labels),
        "schedule": schedule_of(id),
        "recipient_key": None if recipient is None else digest(channel or "", recipient),
        "words": words(content, detail),
    }


def batch_of(id: str | None, labels: Mapping[str, str]) -> str | None:
    """An id like ``file-2f1c:17`` names its batch and row; any other, the label ``batch``."""
    row = _ROW.fullmatch(id or "")
    return row[1] if row else _text(labels.get(_BATCH))


def schedule_of(id: str | None) -> str | None:
    """The schedule whose occurrence has this id, or whose audience has this row."""
    occurrence = _OCCURRENCE.fullmatch(id or "") or _AUDIENCE.fullmatch(id or "")
    return occurrence[1] if occurrence else None


def words(content: Mapping[str, Any], detail: str) -> str:
    """Subject, body, data and detail in small letters, for free text; the first of very much."""
    parts = [content.get("subject"), content.get("body"), _data(content.get("data")), detail]
    found = "\n".join(part for part in parts if isinstance(part, str) and part)
    return clean(found[:_MAX_WORDS].casefold())


def label_pairs(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and values as they are searched for."""
    return sorted({label_pair(name, value) for name, value in labels.items()})


def label_pair(name: str, value: str) -> tuple[str, str]:
    return clean(name)[:_MAX_NAME], clean(value)[:MAX_VALUE]


def clean(text: str) -> str:
    """Text that every database takes: no NUL, no half of a surrogate pair."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "�").encode(errors="replace").decode()


def _data(data: Any) -> str | None:
    return None if data is None else json.dumps(data, ensure_ascii=False)


def _text(value: Any) -> str | None:
    return clean(value)[:MAX_VALUE] if isinstance(value, str) and value else None
