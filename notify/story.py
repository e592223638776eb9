"""What happened to one notification, for people and for programs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from notify.ledger import Ledger, Record
from notify.store import ArchivedLetter, Store
from notify.telemetry import mask


def story(
    id: str, ledger: Ledger, store: Store, scheduled: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Everything the ledger and the archive know of ``id``; ``state`` is "not found" where
    neither knows it. ``scheduled`` is what is known of one that was to be sent at an instant,
    whose ``state`` counts until a worker has it.

    Raises ``LedgerUnavailable`` and ``StoreUnavailable``.
    """
    record, archived = ledger.record(id), store.get(id)
    before = scheduled["state"] if scheduled else "not found"
    return {
        "id": id,
        "state": record.state if record else ("archived" if archived else before),
        "ledger": _record(record) if record else None,
        "archive": [_archived(row) for row in archived],
        "scheduled": dict(scheduled) if scheduled else None,
    }


def tell(facts: dict[str, Any]) -> str:
    """The story in words."""
    lines = [f"{facts['id']}: {_HEADLINES.get(facts['state'], facts['state'])}"]
    record, scheduled = facts["ledger"], facts["scheduled"]
    if scheduled:
        lines += _tell_scheduled(scheduled)
    if record:
        lines += _tell_record(record)
    for row in facts["archive"]:
        lines += _tell_archived(row)
    return "\n".join(lines)


_HEADLINES = {
    "sent": "delivered",
    "sending": "being sent at this moment",
    "waiting": "waiting for its next attempt",
    "dead": "not delivered; it is in the dead-letter archive",
    "unknown": "nobody knows whether it arrived; it is in the dead-letter archive",
    "archived": "not delivered; it is in the dead-letter archive",
    "scheduled": "scheduled, and not sent yet",
    "paused": "scheduled, but paused: it is not sent until it is resumed",
    "quarantined": "scheduled, but set aside: as it is it cannot be sent",
    "missing": "scheduled, but Redis has lost it for the moment",
    "cancelled": "cancelled before it was sent",
    "skipped": "not sent: it was passed over",
    "missed": "not sent: its time was over before any beat could send it",
    "failed": "not sent: until its time was over, it could not be",
    "over": "not sent: its time was over before any beat could send it",
    "fired": "published; no worker has taken it yet, or it was forgotten after its retention",
    "not found": "not found: never published, still queued, or forgotten after its retention",
}


def _tell_scheduled(scheduled: Mapping[str, Any]) -> list[str]:
    waits = scheduled["state"] in ("scheduled", "paused", "quarantined", "missing")
    at = scheduled["at"]
    lines = [f"  {'is' if waits else 'was'} to be sent at {at.isoformat()}"] if at else []
    return lines + ([f"  {scheduled['problem']}"] if scheduled["problem"] else [])


def _tell_record(record: dict[str, Any]) -> list[str]:
    lines = []
    if record["state"] == "sent":
        number = f" (its id: {record['provider_id']})" if record["provider_id"] else ""
        lines.append(f"  {record['changed_at']}  {record['provider']} took it{number}")
        lines.append(f"  attempt {record['attempt']} of generation {record['generation']}")
    lines += [_tell_attempt(attempt) for attempt in record["attempts"]]
    if record["state"] == "waiting" and record["step"]:
        lines.append(f"  {record['changed_at']}  next attempt after {record['step']['rung']} s")
    if record["unpublished"]:
        lines.append("  the next step is not yet confirmed by RabbitMQ")
    return lines


def _tell_attempt(attempt: dict[str, Any]) -> str:
    via = f" via {attempt['provider']}" if attempt["provider"] else ""
    code = f" ({attempt['code']})" if attempt.get("code") else ""
    said = f"; it said: {attempt['answer']}" if attempt.get("answer") else ""
    return (
        f"  {attempt['at']}  attempt {attempt['attempt']}{via}: "
        f"{attempt['outcome']}, {attempt['reason']}{code} after {attempt['ms']} ms{said}"
    )


def _tell_archived(row: dict[str, Any]) -> list[str]:
    detail = f" ({row['detail']})" if row["detail"] else ""
    lines = [
        f"  {row['dead_at']}  dead letter {row['seq']}: {row['reason']}{detail}, {row['state']}"
    ]
    lines += [f"  {_tell_attempt(attempt)}" for attempt in row["attempts"]]
    return lines


def _record(record: Record) -> dict[str, Any]:
    return {key: value for key, value in asdict(record).items() if key != "digest"}


def _archived(row: ArchivedLetter) -> dict[str, Any]:
    letter = row.letter
    return {
        "seq": row.seq,
        "generation": letter.generation,
        "channel": letter.channel,
        "recipient": mask(letter.recipient or ""),
        "reason": letter.reason,
        "detail": letter.detail,
        "dead_at": letter.dead_at,
        "archived_at": row.archived_at,
        "state": row.state,
        "attempts": list(letter.attempts),
    }
