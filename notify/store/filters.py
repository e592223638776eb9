"""Which dead letters are meant."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, func

from notify.store.rows import micros
from notify.store.schema import DEAD_LETTERS

_EQUAL: Final = ("channel", "reason", "provider", "id", "recipient", "state")


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Dead letters that match all of what is given; ``since`` <= dead_at < ``until``.

    ``label`` is a name and a value. ``limit`` and ``offset`` concern lists only.
    """

    channel: str | None = None
    reason: str | None = None
    provider: str | None = None
    id: str | None = None
    recipient: str | None = None
    state: str | None = None
    label: tuple[str, str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = 50
    offset: int = 0


def conditions(wanted: Filter, dialect: str) -> list[ColumnElement[bool]]:
    columns = DEAD_LETTERS.c
    found: list[ColumnElement[bool]] = [
        columns[name] == value for name in _EQUAL if (value := getattr(wanted, name)) is not None
    ]
    if wanted.since is not None:
        found.append(columns.dead_at >= micros(wanted.since))
    if wanted.until is not None:
        found.append(columns.dead_at < micros(wanted.until))
    if wanted.label is not None:
        found.append(_has_label(*wanted.label, dialect))
    return found


def _has_label(name: str, value: str, dialect: str) -> ColumnElement[bool]:
    """Quotes inside texts are escaped in JSON, so this finds a whole name and value only.

    LIKE would not do: SQLite's ignores case.
    """
    position: Any = func.strpos if dialect == "postgresql" else func.instr
    fragment = f"{json.dumps(name)}:{json.dumps(value)}"
    found: ColumnElement[bool] = position(DEAD_LETTERS.c.labels, fragment) > 0
    return found
