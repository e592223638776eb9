"""Notifications from CSV text: one a row, named columns, errors with file, line and column."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from notify.errors import InvalidInput, InvalidNotification
from notify.notification import Notification
from notify.rows.lines import Cut
from notify.rows.making import (
    REQUIRED,
    UNDECODED,
    VARIABLE,
    Maker,
    Normalise,
    Render,
    Row,
    undecoded,
)

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
_DELIMITERS: Final = (",", ";", "\t")
_PLAIN: Final = re.compile(r"[A-Za-z_.-]{1,32}")
_QUOTE_MISSING: Final = (
    "the rest of the file cannot be told into rows: is a quotation mark missing?"
)


def read_rows(
    lines: Iterable[str],
    name: str,
    batch: str,
    render: Render | None = None,
    normalise: Normalise | None = None,
) -> Iterator[Notification]:
    """One notification for each row; the first row that is wrong raises ``InvalidInput``."""
    for row in read_table(lines, name, Maker(batch=batch, render=render, normalise=normalise)):
        if row.notification is None:
            raise row.error(name)
        yield row.notification


def read_table(
    lines: Iterable[str],
    name: str,
    maker: Maker,
    *,
    defaults: Mapping[str, str] | None = None,
    after: int = 0,
) -> Iterator[Row]:
    """The rows of a CSV file with a header line; those up to line ``after`` are passed over.

    Columns are the fields of a notification, ``data`` as JSON, ``label.NAME``, and with
    ``template`` its variables as ``var.NAME``; they are separated by what the header line
    has: commas, semicolons or tabs. ``defaults`` are cells by column, where a row has none.
    ``name`` is the file's name for errors. Raises ``InvalidInput`` where no row can be told
    from the next.
    """
    tape = _Tape(lines)
    reader = csv.reader(tape, strict=True, delimiter=tape.delimiter)
    header = _header(reader, name, defaults or {})
    while True:
        line = tape.line + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, _TooLong) as error:
            if tape.line > line:
                raise InvalidInput(f"{name}:{line}: {error}; {_QUOTE_MISSING}") from error
            yield _unread(line, error, tape, header)
            continue
        if cells and line > after:
            yield _row(line, tape.line, header, cells, maker, defaults or {})


class _TooLong(Exception):
    """is too long for a row"""

    def __str__(self) -> str:
        return self.__doc__ or ""


class _Tape:
    """The lines, counted; ``last`` is the one that was read last."""

    def __init__(self, lines: Iterable[str]) -> None:
        given = iter(lines)
        first = next(given, "")
        self.delimiter = _delimiter(first)
        self._lines = chain([first] if first else [], given)
        self.line = 0
        self.last = ""

    def __iter__(self) -> "_Tape":
        return self

    def __next__(self) -> str:
        self.last = next(self._lines)
        self.line += 1
        if isinstance(self.last, Cut):
            raise _TooLong
        return self.last


def _delimiter(header: str) -> str:
    """The one that separates most of the names that we know."""

    def known(delimiter: str) -> int:
        names = (part.strip(' \r\n"\ufeff') for part in header.split(delimiter))
        return sum(_known(name) for name in names)

    return max(_DELIMITERS, key=known)


def _known(name: str) -> bool:
    return name in COLUMNS or name.startswith((_LABEL, VARIABLE))


def _header(reader: Any, name: str, defaults: Mapping[str, str]) -> list[str]:
    try:
        cells = next(reader, None)
    except (csv.Error, _TooLong) as error:
        raise InvalidInput(f"{name}:1: {error}") from error
    if not cells:
        raise InvalidInput(f"{name}: is empty; the first line must name the columns")
    header = [cell.strip().removeprefix("\ufeff") for cell in cells]
    for number, column in enumerate(header, 1):
        if not _known(column):
            # In a file without a header it is somebody's number or text.
            shown = repr(column) if _PLAIN.fullmatch(column) else f"number {number}"
            raise InvalidInput(f"{name}:1: unknown column {shown}; known: {', '.join(COLUMNS)}")
    for column in REQUIRED:
        if column not in header and column not in defaults:
            raise InvalidInput(f"{name}:1: column {column!r} is missing")
    if len(set(header)) < len(header):
        raise InvalidInput(f"{name}:1: a column stands there twice")
    return header


def _unread(line: int, error: Exception, tape: _Tape, header: list[str]) -> Row:
    """A row of one line that is no row, with its column where one cell is too long."""
    if isinstance(error, _TooLong) or "field limit" in str(error):
        longest = csv.field_size_limit()
        number = _long_cell(tape.last, tape.delimiter, longest)
        column = header[number] if number < len(header) else f"number {number + 1}"
        return Row(number=line, column=column, problem=f"has more than {longest} characters")
    return Row(number=line, problem=str(error))


def _long_cell(text: str, delimiter: str, longest: int) -> int:
    """The number of the first cell that is too long; of the last one, where none is."""
    start, number, quoted = 0, 0, False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == delimiter and not quoted:
            start, number = place + 1, number + 1
        if place - start >= longest:
            break
    return number


def _row(
    line: int,
    last: int,
    header: list[str],
    cells: list[str],
    maker: Maker,
    defaults: Mapping[str, str],
) -> Row:
    if len(cells) != len(header):
        upto = f" (up to line {last})" if last > line else ""
        problem = f"has {len(cells)} cells, the header has {len(header)}{upto}"
        return Row(number=line, problem=problem)
    filled = {column: cell for column, cell in zip(header, cells, strict=True) if cell != ""}
    for column, cell in filled.items():
        if undecoded(cell):
            return Row(number=line, column=column, problem=UNDECODED)
    filled = {**defaults, **filled}
    try:
        values = _values(filled)
    except InvalidNotification as error:
        return Row(number=line, column=error.field, problem=error.problem)
    return maker.row(line, values, _named(filled, VARIABLE))


def _values(filled: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {"labels": _named(filled, _LABEL)}
    values |= {c: cell for c, cell in filled.items() if not c.startswith((_LABEL, VARIABLE))}
    if "data" in values:
        values["data"] = _json(values["data"])
    return values


def _named(filled: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {c.removeprefix(prefix): cell for c, cell in filled.items() if c.startswith(prefix)}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidNotification("data", f"is not valid JSON: {error}") from None
