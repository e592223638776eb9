"""Logs: one line per event, JSON when not on a terminal; recipients masked, bodies never.

An event is logged as ``log.info("delivered", extra=event(id=…, outcome=…))``. What is not
given as an event field cannot reach the output, so personal data has no way in.
"""

import json
import logging
import re
import sys
import traceback
from collections import deque
from datetime import UTC, datetime
from functools import lru_cache
from select import PIPE_BUF
from threading import get_ident
from time import monotonic
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
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":"))
# More lines than these wait for whoever writes; fewer do not hold their threads up.
_MOST_WAITING: Final = 1000
# For so many seconds a thread writes what others say, before it holds them up.
_LONGEST_TURN: Final = 0.1


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
        return _ENCODER.encode(_values(record))


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
        "time": _time(record.created),
        "level": record.levelname,
        "logger": record.name,
        "event": record.getMessage(),
    }
    values |= getattr(record, _FIELDS, {})
    if record.exc_info and record.exc_info[1] is not None:
        values["error"] = safe_traceback(record.exc_info[1])
    return values


def _time(seconds: float) -> str:
    whole = int(seconds)
    milliseconds = min(round((seconds - whole) * 1e6) // 1000, 999)
    return f"{_second(whole)}.{milliseconds:03}+00:00"


@lru_cache(2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class _Lines(logging.Handler):
    """Writes lines in their order, from whichever thread is at it.

    A thread whose line is taken along by another one need not wait for that, unless it has
    something worse than usual to say, or so many lines wait that nobody seems to read them, or
    the other one would never come to an end.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._behind = False
        self._writer: int | None = None

    def _at_fork_reinit(self) -> None:
        """What waits is written by our parent."""
        super()._at_fork_reinit()  # type: ignore[misc]
        self._waiting.clear()
        self._writer = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Without the lock that the inherited one takes for each line."""
        wanted = bool(self.filter(record))
        if wanted:
            self.emit(record)
        return wanted

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._waiting.append(self.format(record) + "\n")
            many = self._behind or len(self._waiting) > _MOST_WAITING
            self._write(many or record.levelno > logging.INFO)
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        self._write(True)

    def _write(self, patient: bool) -> None:
        lock = self.lock
        assert lock is not None
        if self._writer == get_ident():
            # A signal came while this thread writes: it sees this line when it is done.
            return
        began = 0.0
        while lock.acquire(blocking=patient):
            try:
                self._writer = get_ident()
                self._write_some()
            finally:
                self._writer = None
                lock.release()
            # What came before the lock was free again has nobody else to write it.
            if not self._waiting:
                self._behind = False
                return
            now = monotonic()
            began = began or now
            self._behind = now - began > _LONGEST_TURN

    def _write_some(self) -> None:
        """Whole lines that a pipe takes in one piece: other processes may write to it, too."""
        lines: list[str] = []
        size = 0
        while self._waiting:
            size += len(self._waiting[0].encode(errors="backslashreplace"))
            if lines and size > PIPE_BUF:
                break
            lines.append(self._waiting.popleft())
        if lines:
            self._stream.write("".join(lines))
            self._stream.flush()


def set_up_logging(level: str, style: str, stream: TextIO | None = None) -> None:
    """Replaces the root handlers by one that writes events to ``stream`` (stderr).

    ``style`` is "json", "text" or "auto": JSON unless on a terminal.
    """
    target = stream or sys.stderr
    as_json = style == "json" or (style == "auto" and not target.isatty())
    handler = _Lines(target)
    handler.setFormatter(_Json() if as_json else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    _leave_out()
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))


def _leave_out() -> None:
    """What no line shows is not looked for either: see "Optimization" in logging's manual."""
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
