"""Notifications from files: CSV and JSON Lines, one a row, errors with line and column."""

from notify.rows.lines import LONGEST_LINE, Cut, bounded
from notify.rows.making import Maker, Normalise, Render, Row
from notify.rows.objects import read_objects
from notify.rows.table import COLUMNS, read_rows, read_table

__all__ = [
    "COLUMNS",
    "LONGEST_LINE",
    "Cut",
    "Maker",
    "Normalise",
    "Render",
    "Row",
    "bounded",
    "read_objects",
    "read_rows",
    "read_table",
]
