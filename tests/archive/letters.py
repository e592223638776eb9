"""Dead letters and messages to test with."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, update

from notify.deadletter import DeadLetter, from_envelope, read
from notify.message import Envelope, Message, encode
from notify.notification import Notification
from notify.outcomes import Reason
from notify.store import Store
from notify.store.rows import REPLAYED, micros
from notify.store.schema import DEAD_LETTERS, REPLAYS

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
ATTEMPT = {
    "generation": 1,
    "attempt": 1,
    "at": NOW.isoformat(),
    "provider": "acme",
    "outcome": "permanent",
    "reason": "recipient_refused",
    "detail": "",
    "code": "550",
    "ms": 12,
}


def sms(id: str = "n-1", **changes: Any) -> Notification:
    values = {"channel": "sms", "recipient": "+4915112345678", "body": "Привет 🎉", "id": id}
    return Notification(**values | {"created_at": NOW} | changes)


def work_message(id: str = "n-1", **changes: Any) -> Message:
    return encode(Envelope(notification=sms(id, **changes), first_queued=NOW), now=NOW)


def dead(
    id: str = "n-1", *, reason: Reason = Reason.RECIPIENT_REFUSED, **changes: Any
) -> DeadLetter:
    envelope = Envelope(notification=sms(id, labels={"team": "ops"}), first_queued=NOW)
    return from_envelope(envelope, reason, "550 no such user", [ATTEMPT], NOW).evolve(**changes)


def raw(body: bytes = b"\xff\x00junk") -> DeadLetter:
    return read(body=body, headers={}, content_type=None, routing_key="?", now=NOW)


def replayed(store: Store, seq: int, *, ok: bool = True, note: str = "") -> None:
    """As an earlier release noted a replay by ann."""
    entry = {"dead_seq": seq, "at": micros(NOW), "actor": "ann", "note": note}
    entry |= {"from_generation": 1, "new_generation": 2, "state": "published" if ok else "failed"}
    with store._database.writing() as connection:
        connection.execute(insert(REPLAYS).values(entry))
        if ok:
            change = update(DEAD_LETTERS).where(DEAD_LETTERS.c.seq == seq)
            connection.execute(change.values(state=REPLAYED))
