"""From a firing to its rows: a copy of what they are read from, and who reads it."""

import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO, Final

from notify.batch import FileSpec
from notify.config import Settings
from notify.errors import InvalidInput, NotifyError
from notify.schedule.audience.order import FanOrder
from notify.schedule.audience.rows import GeneratedRows, PeopleFile, write_rows
from notify.schedule.audience.spool import Spool
from notify.schedule.spec import ScheduleSpec, load_audience, row_defaults
from notify.telemetry import event, safe_traceback
from notify.templates import Templates

log = logging.getLogger(__name__)

_CHUNK: Final = 1 << 20


@contextmanager
def opened_rows(
    order: FanOrder,
    settings: Settings,
    spool: Spool,
    *,
    keep: bool = True,
    still: Callable[[], None] = lambda: None,
) -> Iterator[PeopleFile | GeneratedRows]:
    """The rows of a firing, from its private copy, which is made where there is none.

    ``still`` is called often while that takes long; with ``keep`` false the copy goes when this
    ends. Raises ``InvalidInput`` and ``ConfigError``.
    """
    file = spool.open(order.batch)
    if file is None:
        file = spool.make(order.batch, lambda copy: fill(order, copy, still), keep=keep)
    with file:
        yield rows_of(order, file, settings)


@contextmanager
def opened_file(order: FanOrder, settings: Settings) -> Iterator[PeopleFile]:
    """A file's rows as they are now, without a copy. Raises ``InvalidInput``."""
    with _open(order.spec.audience.file or "") as file:
        rows = rows_of(order, file, settings)
        assert isinstance(rows, PeopleFile)
        yield rows


def rows_of(order: FanOrder, file: BinaryIO, settings: Settings) -> PeopleFile | GeneratedRows:
    """Those that a file has, with the schedule's content where they have none of their own."""
    templates, spec = Templates(settings.templates), order.spec
    defaults = row_defaults(spec, order.planned, order.actual, templates)
    if spec.audience.file is not None:
        how = FileSpec(path=spec.audience.file, encoding=spec.audience.encoding, defaults=defaults)
        return PeopleFile(how, file, settings, templates).named(order.batch)
    how = FileSpec(path=spec.audience.python or "", defaults=defaults)
    return GeneratedRows(how, file, settings, templates).named(order.batch)


def check_there(spec: ScheduleSpec) -> None:
    """Raises ``InvalidInput`` where the rows cannot be read at this moment."""
    if spec.audience.file is not None:
        _open(spec.audience.file).close()
    elif spec.audience.python is not None:
        load_audience(spec.audience.python)


def fill(order: FanOrder, copy: BinaryIO, still: Callable[[], None]) -> None:
    """Writes down what the audience is now."""
    who = order.spec.audience
    if who.file is not None:
        _copy(who.file, copy, still)
    elif who.python is not None:
        local = order.planned.astimezone(order.spec.recurrence.where)
        write_rows(_generated(who.python, local), copy, still)


def _copy(path: str, copy: BinaryIO, still: Callable[[], None]) -> None:
    with _open(path) as file:
        before = _stamp(file)
        while chunk := _read(path, file):
            copy.write(chunk)
            still()
        if _stamp(file) != before:
            raise InvalidInput(f"{path}: was changed while it was read")


def _open(path: str) -> BinaryIO:
    """Never waits: for somebody who writes into a pipe, for example."""
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InvalidInput(f"{path}: is no file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _read(path: str, file: BinaryIO) -> bytes:
    try:
        return file.read(_CHUNK)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error


def _stamp(file: BinaryIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def _generated(name: str, planned: datetime) -> Iterator[Any]:
    """What a function of others gives; what goes wrong in there is told by its name only."""
    try:
        items: Iterable[Any] = load_audience(name)(planned)
        yield from items
    except NotifyError:
        raise
    except Exception as error:
        log.error("audience failed", extra=event(error=safe_traceback(error)))
        raise InvalidInput(f"{name}: failed with {type(error).__name__}") from error
