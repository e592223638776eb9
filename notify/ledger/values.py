"""What the ledger answers, as values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, Self


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStep:
    """What follows an attempt: a wait on a rung, or the archive."""

    do: Literal["delay", "dead"]
    rung: int = 0
    reason: str = ""
    detail: str = ""
    provider: str = ""
    """The only one that can tell a repeat: the outcome of its attempt is not known."""

    def to_json(self) -> str:
        return json.dumps({k: v for k, v in asdict(self).items() if v}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What another version wrote besides is left out."""
        known = {item.name for item in fields(cls)}
        return cls(**{k: v for k, v in json.loads(text).items() if k in known})


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRecord:
    """One attempt as it is shown to people; ``ms`` is how long it took."""

    generation: int
    attempt: int
    at: str
    provider: str
    outcome: str
    reason: str = ""
    detail: str = ""
    code: str = ""
    ms: int = 0
    answer: str = ""
    """The start of what the provider said, escaped and redacted."""

    def to_json(self) -> str:
        values = {k: v for k, v in asdict(self).items() if k != "answer" or v}
        return json.dumps(values, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claimed:
    """Ours to send: as this attempt of this generation, until the lease ends."""

    owner: str
    generation: int
    attempt: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Duplicate:
    """It has been delivered before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """An old copy; another message carries, or carried, this notification on."""

    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """The id is known with other content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Busy:
    """Somebody else is sending it, for at most ``seconds`` more."""

    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Unpublished:
    """The outcome is known, but its next step may not have reached the broker."""

    generation: int
    attempt: int
    step: NextStep


Claim = Claimed | Duplicate | Stale | Conflict | Busy | Unpublished


def read_claim(owner: str, answer: Sequence[Any]) -> Claim:
    """What the script answered to ``owner``'s claim."""
    match answer:
        case ["claimed", generation, attempt]:
            return Claimed(owner=owner, generation=int(generation), attempt=int(attempt))
        case ["unpublished", generation, attempt, step]:
            return Unpublished(
                generation=int(generation), attempt=int(attempt), step=NextStep.from_json(step)
            )
        case ["busy", ms]:
            return Busy(seconds=int(ms) / 1000)
        case ["stale", state]:
            return Stale(state=state)
        case ["conflict"]:
            return Conflict()
    return Duplicate()


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """How the ledger is. ``at_risk`` bounds from above how many deliveries since
    ``intact_since`` may have been repeats of one whose record was lost. ``keys`` are all of
    the database, ``evicted`` those that the server threw away since its start."""

    intact_since: datetime | None
    at_risk: int
    used_bytes: int
    limit_bytes: int
    keys: int = 0
    evicted: int = 0
    replicas: int = 0

    @property
    def fill(self) -> float:
        """Share of the memory limit in use; 0 without a limit."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """Everything the ledger knows of one notification."""

    id: str
    state: str
    generation: int
    attempt: int
    digest: str
    changed_at: datetime
    created_at: datetime | None = None
    first_queued: str = ""
    queue: str = ""
    unpublished: bool = False
    lease_until: datetime | None = None
    step: NextStep | None = None
    provider: str = ""
    provider_id: str = ""
    attempts: tuple[dict[str, Any], ...] = ()


def read_record(notification_id: str, value: str | dict[str, str]) -> Record:
    """A record from its stored form."""
    if isinstance(value, str):
        return _delivered(notification_id, value)
    return _unfinished(notification_id, value)


def read_stored(notification_id: str, answer: Sequence[Any]) -> Record | None:
    """What the script that reads a record answered."""
    kind, *values = answer
    if kind == "none":
        return None
    fields = dict(zip(values[::2], values[1::2], strict=True)) if kind == "hash" else values[0]
    return read_record(notification_id, fields)


def sent_text(generation: int, attempt: int, digest: str, provider: str, provider_id: str) -> str:
    """The short form of a delivered record, with ``%.0f`` where the script puts the time."""
    # A provider's id is free text: what would break the format, or grow it, is left out.
    clean = "".join(c for c in provider_id if c.isascii() and c.isprintable() and c not in "|%")
    return f"v1|{generation}|{attempt}|{digest}|%.0f|{provider[:32]}|{clean[:45]}"


def _delivered(notification_id: str, text: str) -> Record:
    _, generation, attempt, digest, ms, provider, provider_id = text.split("|")[:7]
    return Record(
        id=notification_id,
        state="sent",
        generation=int(generation),
        attempt=int(attempt),
        digest=digest,
        changed_at=_instant(ms),
        provider=provider,
        provider_id=provider_id,
    )


def _unfinished(notification_id: str, fields: dict[str, str]) -> Record:
    attempts = tuple(_attempt(fields[f"h{n}"]) for n in range(1, int(fields.get("hn", 0)) + 1))
    return Record(
        id=notification_id,
        state=fields["s"],
        generation=int(fields["g"]),
        attempt=int(fields["a"]),
        digest=fields["d"],
        changed_at=_instant(fields["t"]),
        created_at=_instant(fields["c"]),
        first_queued=fields.get("q", ""),
        queue=fields.get("k", ""),
        unpublished="u" in fields,
        lease_until=_instant(fields["l"]) if "l" in fields else None,
        step=NextStep.from_json(fields["n"]) if "n" in fields else None,
        provider=fields.get("p", ""),
        attempts=attempts,
    )


def _attempt(text: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text)
    # What a script recorded has its time as a number.
    ms = values.pop("at_ms", None)
    return values if ms is None else values | {"at": _instant(ms).isoformat()}


def read_health(marker: dict[str, str], info: Mapping[str, Any], keys: int) -> Health:
    """From the marker, what the server tells of itself, and the number of keys."""
    born = marker.get("born")
    return Health(
        intact_since=_instant(born) if born else None,
        at_risk=int(marker.get("risk", 0)),
        used_bytes=int(info["used_memory"]),
        limit_bytes=int(info["maxmemory"]),
        keys=keys,
        evicted=int(info["evicted_keys"]),
        replicas=int(info["connected_slaves"]),
    )


def _instant(ms: str | float) -> datetime:
    return datetime.fromtimestamp(float(ms) / 1000, UTC)
