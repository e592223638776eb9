"""The dead letter as a value, and what makes two of them the same."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from notify.message import Envelope
from notify.outcomes import Reason

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,127}")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_MAX_DETAIL: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """Why a notification is dead, with all that is needed to look into it and to replay it.

    ``notification`` is its JSON form as it was found. ``raw`` is the body of a message that
    could not be understood. ``headers`` are the message's, made fit for JSON, for context.
    Each of ``attempts`` holds generation, attempt, at, provider, outcome, reason, detail,
    code and ms. There is personal data in ``recipient``, ``notification``, ``headers`` and
    ``raw``, and nowhere else.
    """

    reason: str
    dead_at: datetime
    id: str | None = None
    generation: int = 1
    attempt: int = 1
    digest: str | None = None
    channel: str | None = None
    priority: str | None = None
    recipient: str | None = None
    detail: str = ""
    notification: dict[str, Any] | None = None
    attempts: tuple[dict[str, Any], ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    first_queued: datetime | None = None
    headers: dict[str, Any] = field(default_factory=dict)
    raw: bytes | None = None
    trace: str | None = None

    @property
    def provider(self) -> str | None:
        """The provider of the last attempt."""
        name = self.attempts[-1].get("provider") if self.attempts else None
        return name if isinstance(name, str) else None

    def evolve(self, **changes: Any) -> Self:
        return replace(self, **changes)


def from_envelope(
    envelope: Envelope,
    reason: Reason,
    detail: str,
    attempts: Sequence[Mapping[str, Any]],
    now: datetime,
) -> DeadLetter:
    """The dead letter of a notification to give up. ``detail`` must not hold personal data."""
    notification = envelope.notification
    return DeadLetter(
        id=notification.id,
        generation=envelope.generation,
        attempt=envelope.attempt,
        digest=notification.digest,
        channel=notification.channel,
        priority=notification.priority,
        recipient=notification.recipient,
        reason=str(reason),
        detail=one_line(detail),
        notification=notification.to_dict(),
        attempts=tuple(dict(attempt) for attempt in attempts),
        labels=dict(notification.labels),
        first_queued=as_utc(envelope.first_queued),
        dead_at=as_utc(now),
        trace=envelope.trace,
    )


def identity(letter: DeadLetter) -> str:
    """What makes two dead letters the same one, whatever else differs between them."""
    if letter.id is None:
        content = b"raw\0" + (letter.raw if letter.raw is not None else b"")
        return hashlib.sha256(content).hexdigest()
    key = [letter.id, letter.generation, letter.digest, letter.reason]
    return hashlib.sha256(canonical(key)).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON in ASCII with sorted names, so that equal values are equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def fingerprint(content: bytes) -> str:
    """A digest for what has none of its own because it is not a valid notification."""
    return hashlib.sha256(content).hexdigest()[:32]


def valid_id(value: Any) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def one_line(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text)[:_MAX_DETAIL]


def as_utc(time: datetime) -> datetime:
    """The same instant in UTC; the first or last year with an offset may have none there."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        return time.replace(tzinfo=UTC)
