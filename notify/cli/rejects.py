"""The file of rows that were not taken, with line, column and reason, and nothing of theirs."""

import csv
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from notify.errors import InvalidInput
from notify.rows import Row


class Rejects:
    """Written when the first row is rejected; without a path they are only counted."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: TextIO | None = None
        self._writer: Any = None

    def add(self, row: Row) -> None:
        if self.path is None:
            return
        try:
            if self._file is None:
                self._file = self.path.open("w", encoding="utf-8", newline="")
                self._writer = csv.writer(self._file)
                self._writer.writerow(("line", "column", "reason"))
            self._writer.writerow((row.number, row.column, row.problem))
        except OSError as error:
            raise InvalidInput(f"{self.path}: cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
