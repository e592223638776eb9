"""Runs of replays and their letters as values, and as rows of the archive."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from notify.store.rows import clean, instant, micros

SENT: Final = "sent"
FAILED: Final = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayRun:
    """``wanted`` and ``edits`` are for people, and masked; ``terms`` say how its letters are
    sent, and ``content`` is what replaces theirs, until the run is over."""

    name: str
    actor: str
    wanted: Mapping[str, Any] = field(default_factory=dict)
    terms: Mapping[str, Any] = field(default_factory=dict)
    edits: Mapping[str, Any] = field(default_factory=dict)
    content: Mapping[str, str] | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayLetter:
    """A letter of a run. ``generation`` is what it became, or is about to become; ``result``
    is None until it is known; ``other`` is the run that was there before; ``at`` is when it was
    taken, and later when its result was noted."""

    run: str
    number: int
    dead_seq: int
    id: str | None = None
    generation: int | None = None
    result: str | None = None
    other: str | None = None
    note: str = ""
    at: datetime | None = None


def run_row(run: ReplayRun) -> dict[str, Any]:
    values: dict[str, Any] = {"name": run.name, "at": micros(run.at), "actor": clean(run.actor)}
    values |= {name: json.dumps(dict(getattr(run, name))) for name in ("wanted", "terms", "edits")}
    return values | {"content": None if run.content is None else json.dumps(dict(run.content))}


def read_run(row: Mapping[str, Any]) -> ReplayRun:
    values = dict(row) | {"at": instant(row["at"])}
    values |= {name: json.loads(row[name]) for name in ("wanted", "terms", "edits")}
    content = row["content"]
    return ReplayRun(**values | {"content": None if content is None else json.loads(content)})


def read_letter(row: Mapping[str, Any]) -> ReplayLetter:
    return ReplayLetter(**dict(row) | {"at": instant(row["at"])})
