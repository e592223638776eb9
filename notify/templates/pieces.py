"""A template as one text: marks stand where its values and its statements are.

The marks cannot be in a template or be taken for markup, so that where a value stands can be
read from the text around it.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from notify.templates.values import Variable

VALUE: Final = "\ue000"
STATEMENT: Final = "\ue001"


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """What ``{{ }}`` shows: the bare variable if it is one, and whether it is URL-encoded."""

    variable: Variable | None
    encoded: bool


@dataclass(slots=True)
class Pieces:
    """What stands between, before and after the marks, in the order of the file."""

    text: str = ""
    values: list[Value] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def add(self, text: str, line: int) -> None:
        self._starts.append(len(self.text))
        self._lines.append(line)
        self.text += text

    def add_value(self, value: Value, line: int) -> None:
        self.values.append(value)
        self.add(VALUE, line)

    def line_at(self, position: int) -> int:
        index = bisect_right(self._starts, position) - 1
        if index < 0:
            return 1
        return self._lines[index] + self.text.count("\n", self._starts[index], position)

    def values_between(self, start: int, end: int) -> list[Value]:
        before = self.text.count(VALUE, 0, start)
        return self.values[before : before + self.text.count(VALUE, start, end)]
