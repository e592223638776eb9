"""Dead letters and replays as rows, and back."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, overload

from notify.deadletter import DeadLetter, identity
from notify.store import facets

OPEN: Final = "open"
REPLAYED: Final = "replayed"

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_JSON: Final = ("notification", "attempts", "labels", "headers")
_SEARCHED: Final = ("code", "template", "batch", "schedule")
_TIMES: Final = ("first_queued", "dead_at")
_TEXTS: Final = (
    *("id", "digest", "channel", "priority", "recipient", "provider", "reason", "detail", "trace"),
)
# What anybody may have written, and a database's index does not take at any length.
_INDEXED: Final = ("channel", "provider", "reason")
_AS_THEY_ARE: Final = (
    *("id", "generation", "attempt", "digest", "channel", "priority", "recipient"),
    *("reason", "detail", "raw", "trace"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivedLetter:
    """A dead letter in the archive.

    ``count`` is how often a message without an id was seen, as far as it can be known: a
    message that comes twice because of a crash counts twice. ``code`` is the last attempt's,
    ``batch`` and ``schedule`` are what its id or its labels name.
    """

    seq: int
    letter: DeadLetter
    archived_at: datetime
    count: int
    state: str
    code: str | None = None
    template: str | None = None
    batch: str | None = None
    schedule: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reveal:
    """Somebody had personal data of so many letters shown."""

    at: datetime
    actor: str
    what: str
    letters: int


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
    row |= {name: row[name] and row[name][: facets.MAX_VALUE] for name in _INDEXED}
    row |= {name: _to_json(getattr(letter, name)) for name in _JSON}
    row |= {name: micros(getattr(letter, name)) for name in _TIMES}
    return row | _searched(letter) | {"count": 1, "state": OPEN}


def _searched(letter: DeadLetter) -> dict[str, str | None]:
    return facets.facets(
        id=letter.id,
        channel=letter.channel,
        recipient=letter.recipient,
        detail=letter.detail,
        notification=letter.notification,
        attempts=letter.attempts,
        labels=letter.labels,
    )


def label_rows(new: Mapping[str, Any], seq: int) -> list[dict[str, Any]]:
    """What is to be stored of the labels of a new letter, which has got its number."""
    return [
        {"name": name, "value": value, "dead_at": new["dead_at"], "dead_seq": seq}
        for name, value in facets.label_pairs(json.loads(new["labels"]))
    ]


def _to_json(value: Any) -> str | None:
    return None if value is None else _encode(value)


def clean(text: str | None) -> str | None:
    return None if text is None else facets.clean(text)


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
        **{name: row[name] for name in _SEARCHED},
    )


def to_replay(row: Mapping[str, Any]) -> Replay:
    return Replay(**dict(row) | {"at": instant(row["at"])})


def to_reveal(row: Mapping[str, Any]) -> Reveal:
    return Reveal(at=instant(row["at"]), **{n: row[n] for n in ("actor", "what", "letters")})


@overload
def micros(time: datetime) -> int: ...


@overload
def micros(time: None) -> None: ...


def micros(time: datetime | None) -> int | None:
    return None if time is None else (time - _EPOCH) // _MICROSECOND


@overload
def instant(value: int) -> datetime: ...


@overload
def instant(value: None) -> None: ...


def instant(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + value * _MICROSECOND
