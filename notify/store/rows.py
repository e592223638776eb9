"""Dead letters and replays as rows, and back."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notify.deadletter import DeadLetter, identity

OPEN: Final = "open"
REPLAYED: Final = "replayed"
PUBLISHING: Final = "publishing"
PUBLISHED: Final = "published"
FAILED: Final = "failed"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_JSON: Final = ("notification", "attempts", "labels", "headers")
_TIMES: Final = ("first_queued", "dead_at")
_TEXTS: Final = (
    *("id", "digest", "channel", "priority", "recipient", "provider", "reason", "detail", "trace"),
)
_AS_THEY_ARE: Final = (
    *("id", "generation", "attempt", "digest", "channel", "priority", "recipient"),
    *("reason", "detail", "raw", "trace"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivedLetter:
    """A dead letter in the archive.

    ``count`` is how often a message without an id was seen, as far as it can be known: a
    message that comes twice because of a crash counts twice.
    """

    seq: int
    letter: DeadLetter
    archived_at: datetime
    count: int
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """One replay of a dead letter: publishing, published or failed."""

    seq: int
    dead_seq: int
    at: datetime
    actor: str
    from_generation: int
    new_generation: int
    state: str
    note: str


def to_rows(letters: Iterable[DeadLetter], now: datetime) -> list[dict[str, Any]]:
    """One row for each identity, the first letter of each."""
    rows: dict[str, dict[str, Any]] = {}
    for letter in letters:
        key = identity(letter)
        if key in rows:
            rows[key]["count"] += letter.id is None
        else:
            rows[key] = _row(letter) | {"identity": key, "archived_at": micros(now)}
    return list(rows.values())


def _row(letter: DeadLetter) -> dict[str, Any]:
    row = {name: getattr(letter, name) for name in (*_AS_THEY_ARE, "provider")}
    row |= {name: clean(row[name]) for name in _TEXTS}
    row |= {name: _to_json(getattr(letter, name)) for name in _JSON}
    row |= {name: micros(getattr(letter, name)) for name in _TIMES}
    return row | {"count": 1, "state": OPEN}


def _to_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"))


def clean(text: str | None) -> str | None:
    """Text that every database takes: no NUL, no half of a surrogate pair."""
    if text is None:
        return None
    return text.replace("\x00", "�").encode(errors="replace").decode()


def from_row(row: Mapping[str, Any]) -> ArchivedLetter:
    values = {name: row[name] for name in _AS_THEY_ARE}
    values |= {name: None if row[name] is None else json.loads(row[name]) for name in _JSON}
    values |= {name: instant(row[name]) for name in _TIMES}
    letter = DeadLetter(**values | {"attempts": tuple(values["attempts"])})
    return ArchivedLetter(
        seq=row["seq"],
        letter=letter,
        archived_at=_EPOCH + row["archived_at"] * _MICROSECOND,
        count=row["count"],
        state=row["state"],
    )


def to_replay(row: Mapping[str, Any]) -> Replay:
    return Replay(**dict(row) | {"at": instant(row["at"])})


def micros(time: datetime | None) -> int | None:
    return None if time is None else (time - _EPOCH) // _MICROSECOND


def instant(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + value * _MICROSECOND
