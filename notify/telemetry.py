"""Logs: one line per event, JSON when not on a terminal; recipients masked, bodies never.

An event is logged as ``log.info("delivered", extra=event(id=…, outcome=…))``. What is not
given as an event field cannot reach the output, so personal data has no way in.
"""

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

_FIELDS: Final = "notify_event"
# Libraries that log task arguments, message bodies or URLs at these levels.
_QUIET: Final[dict[str, int]] = {
    # Seven errors for one failed connection; the archiver says it once.
    "pika": logging.CRITICAL,
    "alembic": logging.WARNING,
    "urllib3": logging.WARNING,
    "celery.worker.strategy": logging.WARNING,
    "celery.app.trace": logging.CRITICAL,
    "celery.redirected": logging.WARNING,
    "mail.log": logging.WARNING,
}


def event(**fields: Any) -> dict[str, dict[str, Any]]:
    """Fields of one event, for ``extra=``; fields that are ``None`` or empty are left out."""
    return {_FIELDS: {key: value for key, value in fields.items() if value not in (None, "")}}


def mask(recipient: str) -> str:
    """A recipient that can be recognised by who knows it, and by nobody else."""
    scheme, found, rest = recipient.partition("://")
    if found:
        host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
        return f"{scheme}://{host}/***"
    local, at, domain = recipient.partition("@")
    if at:
        return f"{local[:1]}***@{domain}"
    return f"{recipient[:3]}***{recipient[-2:]}" if recipient.startswith("+") else "***"


def safe_traceback(error: BaseException) -> str:
    """Where an exception came from, without its message, which may quote content."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames
    ]
    return f"{type(error).__name__} at {' < '.join(reversed(places)) or 'unknown place'}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        values = _values(record)
        return json.dumps(values, ensure_ascii=False, default=str, separators=(",", ":"))


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        values = _values(record)
        head = f"{values.pop('time')[11:23]} {values.pop('level'):7} {values.pop('event')}"
        values.pop("logger")
        return " ".join([head, *(f"{key}={_plain(value)}" for key, value in values.items())])


def _plain(value: Any) -> str:
    text = str(value)
    if text and text.isprintable() and not set(' "') & set(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _values(record: logging.LogRecord) -> dict[str, Any]:
    values: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "logger": record.name,
        "event": record.getMessage(),
    }
    values |= getattr(record, _FIELDS, {})
    if record.exc_info and record.exc_info[1] is not None:
        values["error"] = safe_traceback(record.exc_info[1])
    return values


def set_up_logging(level: str, style: str, stream: TextIO | None = None) -> None:
    """Replaces the root handlers by one that writes events to ``stream`` (stderr).

    ``style`` is "json", "text" or "auto": JSON unless on a terminal.
    """
    target = stream or sys.stderr
    as_json = style == "json" or (style == "auto" and not target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(_Json() if as_json else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))
