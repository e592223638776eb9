"""Notifications from CSV text: one a row, named columns, errors with file, line and column."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from notify.errors import InvalidInput, InvalidNotification
from notify.notification import VERSION, Notification, parse_instant

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
    "template",
)
_LABEL: Final = "label."
_VARIABLE: Final = "var."
_PLAIN: Final = re.compile(r"[A-Za-z_.-]{1,32}")
_REQUIRED: Final = ("channel", "recipient")


class Render(Protocol):
    """Makes a notification of a template's name, its variables as text, and other fields."""

    def __call__(
        self, template: str, texts: Mapping[str, str], /, **fields: Any
    ) -> Notification: ...


Normalise = Callable[[str, str], str]
"""A recipient from a channel and what stands in the file."""


def _as_it_is(_channel: str, text: str) -> str:
    return text


def read_rows(
    lines: Iterable[str],
    name: str,
    batch: str,
    render: Render | None = None,
    normalise: Normalise = _as_it_is,
) -> Iterator[Notification]:
    """One notification for each row of a CSV file with a header line.

    Columns are the fields of a notification, ``data`` as JSON, ``label.NAME``, and with
    ``template`` its variables as ``var.NAME``. A row without an id gets ``batch:line``, so
    that the same row has the same id each time. ``name`` is the file's name for errors,
    ``normalise`` makes recipients of what people write.
    Raises ``InvalidInput``.
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
            place = f"{name}:{line}"
            values = _values(header, cells, place)
            try:
                _normalise(values, normalise)
                yield _notification(values, f"{batch}:{line}", render)
            except InvalidNotification as error:
                column = error.field.replace("variables.", _VARIABLE, 1)
                raise InvalidInput(f"{place}: column {column}: {error.problem}") from error


def _normalise(values: dict[str, str], normalise: Normalise) -> None:
    if {"channel", "recipient"} <= values.keys():
        values["recipient"] = normalise(values["channel"], values["recipient"])


def _header(reader: Any, name: str) -> list[str]:
    try:
        cells = next(reader, None)
    except csv.Error as error:
        raise InvalidInput(f"{name}:1: {error}") from error
    if not cells:
        raise InvalidInput(f"{name}: is empty; the first line must name the columns")
    header = [cell.strip().removeprefix("\ufeff") for cell in cells]
    for number, column in enumerate(header, 1):
        if column not in COLUMNS and not column.startswith((_LABEL, _VARIABLE)):
            # In a file without a header it is somebody's number or text.
            shown = repr(column) if _PLAIN.fullmatch(column) else f"number {number}"
            raise InvalidInput(f"{name}:1: unknown column {shown}; known: {', '.join(COLUMNS)}")
    for column in _REQUIRED:
        if column not in header:
            raise InvalidInput(f"{name}:1: column {column!r} is missing")
    if len(set(header)) < len(header):
        raise InvalidInput(f"{name}:1: a column stands there twice")
    return header


def _values(header: list[str], cells: list[str], place: str) -> dict[str, str]:
    if len(cells) != len(header):
        raise InvalidInput(f"{place}: has {len(cells)} cells, the header has {len(header)}")
    return {column: cell for column, cell in zip(header, cells, strict=True) if cell != ""}


def _notification(filled: dict[str, str], id: str, render: Render | None) -> Notification:
    labels = _named(filled, _LABEL)
    texts = _named(filled, _VARIABLE)
    values: dict[str, Any] = {"id": id, "labels": labels}
    values |= {c: cell for c, cell in filled.items() if not c.startswith((_LABEL, _VARIABLE))}
    if "data" in values:
        values["data"] = _json(values["data"])
    if "template" in values and render is not None:
        return _rendered(values, texts, render)
    for name in texts:
        raise InvalidNotification(f"variables.{name}", "needs a template")
    return Notification.from_dict({"v": VERSION} | values)


def _rendered(values: dict[str, Any], texts: Mapping[str, str], render: Render) -> Notification:
    for name in _REQUIRED:
        if name not in values:
            raise InvalidNotification(name, "is missing")
    if "expires_at" in values:
        values["expires_at"] = parse_instant("expires_at", values["expires_at"])
    return render(values.pop("template"), texts, **values)


def _named(filled: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {c.removeprefix(prefix): cell for c, cell in filled.items() if c.startswith(prefix)}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidNotification("data", f"is not valid JSON: {error}") from None
