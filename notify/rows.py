"""Notifications from CSV text: one a row, named columns, errors with file, line and column."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from notify.errors import InvalidInput, InvalidNotification
from notify.notification import VERSION, Notification

COLUMNS: Final = (
    "id",
    "channel",
    "recipient",
    "priority",
    "subject",
    "body",
    "html",
    "data",
    "expires_at",
)
_LABEL: Final = "label."
_PLAIN: Final = re.compile(r"[A-Za-z_.-]{1,32}")
_REQUIRED: Final = ("channel", "recipient")


def read_rows(lines: Iterable[str], name: str, batch: str) -> Iterator[Notification]:
    """One notification for each row of a CSV file with a header line.

    Columns are the fields of a notification, ``data`` as JSON, and ``label.NAME``. A row
    without an id gets ``batch:line``, so that the same row has the same id each time.
    ``name`` is the file's name for errors. Raises ``InvalidInput``.
    """
    reader = csv.reader(lines, strict=True)
    header = _header(reader, name)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidInput(f"{name}:{line}: {error}") from error
        if cells:
            yield _notification(header, cells, f"{name}:{line}", f"{batch}:{line}")


def _header(reader: Any, name: str) -> list[str]:
    try:
        cells = next(reader, None)
    except csv.Error as error:
        raise InvalidInput(f"{name}:1: {error}") from error
    if not cells:
        raise InvalidInput(f"{name}: is empty; the first line must name the columns")
    header = [cell.strip().removeprefix("\ufeff") for cell in cells]
    for number, column in enumerate(header, 1):
        if column not in COLUMNS and not column.startswith(_LABEL):
            # In a file without a header it is somebody's number or text.
            shown = repr(column) if _PLAIN.fullmatch(column) else f"number {number}"
            raise InvalidInput(f"{name}:1: unknown column {shown}; known: {', '.join(COLUMNS)}")
    for column in _REQUIRED:
        if column not in header:
            raise InvalidInput(f"{name}:1: column {column!r} is missing")
    if len(set(header)) < len(header):
        raise InvalidInput(f"{name}:1: a column stands there twice")
    return header


def _notification(header: list[str], cells: list[str], place: str, id: str) -> Notification:
    if len(cells) != len(header):
        raise InvalidInput(f"{place}: has {len(cells)} cells, the header has {len(header)}")
    filled = {column: cell for column, cell in zip(header, cells, strict=True) if cell != ""}
    values = {c: cell for c, cell in filled.items() if not c.startswith(_LABEL)}
    labels = {c.removeprefix(_LABEL): cell for c, cell in filled.items() if c.startswith(_LABEL)}
    try:
        if "data" in values:
            values["data"] = _json(values["data"])
        return Notification.from_dict({"v": VERSION, "id": id, "labels": labels} | values)
    except InvalidNotification as error:
        raise InvalidInput(f"{place}: column {error.field}: {error.problem}") from error


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidNotification("data", f"is not valid JSON: {error}") from None
