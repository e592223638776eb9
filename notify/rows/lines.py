"""Lines of a file that may be of any length: what is read of one has a bound."""

from collections.abc import Iterator
from typing import Final, TextIO

LONGEST_LINE: Final = 1 << 20


class Cut(str):
    """The beginning of a line that is longer than a row may be; its rest was passed over."""

    __slots__ = ()


def bounded(file: TextIO, longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines with their ends, as ``Cut`` where they have more than ``longest`` characters."""
    while line := file.readline(longest + 1):
        if len(line) <= longest:
            yield line
            continue
        rest = line
        while rest and not rest.endswith(("\n", "\r")):
            rest = file.readline(longest)
        yield Cut(line)
