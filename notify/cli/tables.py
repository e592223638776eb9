"""Tables for people."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A plain table, as wide as its content where the output is no terminal."""
    width = None if sys.stdout.isatty() else 200
    # What stands in a cell is text, never markup: brackets, as in [fd00::1], are shown.
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table)
