"""Dead letters as a worker and the archiver leave them: in the ledger and in the archive."""

from datetime import UTC, datetime, timedelta
from typing import Any

from notify.deadletter import DeadLetter, from_envelope
from notify.ledger import AttemptRecord, Claimed, NextStep
from notify.message import Envelope
from notify.notification import Notification
from notify.outcomes import Reason, Receipt
from tests.deployment import Deployment, sms

RETENTION = 3600.0


def text(number: int, **values: Any) -> Notification:
    """To a recipient of its own."""
    return sms(f"Text {number}", f"+49170{number:07d}", id=f"n-{number}", **values)


def claimed(deployment: Deployment, envelope: Envelope) -> Claimed:
    claim = deployment.ledger.claim(
        envelope, "worker", lease=30.0, resend_unknown=False, retention=RETENTION
    )
    assert isinstance(claim, Claimed)
    return claim


def die(
    deployment: Deployment,
    notification: Notification,
    reason: Reason = Reason.RETRIES_EXHAUSTED,
    *,
    generation: int = 1,
) -> DeadLetter:
    """What a worker writes when it gives a notification up; not archived yet."""
    envelope = Envelope(
        notification=notification,
        generation=generation,
        # The ledger may have been opened within the same millisecond.
        first_queued=datetime.now(UTC) + timedelta(seconds=1),
    )
    claim = claimed(deployment, envelope)
    unknown = reason is Reason.UNKNOWN_OUTCOME
    record = AttemptRecord(
        generation=generation,
        attempt=1,
        at="2026-01-01T00:00:00.000+00:00",
        provider="texts",
        outcome="unknown" if unknown else "temporary",
        reason=Reason.CONNECTION_LOST if unknown else Reason.PROVIDER_BUSY,
        code="503",
    )
    deployment.ledger.settle_step(
        notification.id,
        claim,
        state="unknown" if unknown else "dead",
        attempt=record,
        step=NextStep(do="dead", reason=reason),
        retention=RETENTION,
    )
    deployment.ledger.clear(notification.id, generation, 1)
    attempts = deployment.ledger.attempts(notification.id)
    return from_envelope(envelope, reason, "", attempts, datetime.now(UTC))


def bury(
    deployment: Deployment,
    *notifications: Notification,
    reason: Reason = Reason.RETRIES_EXHAUSTED,
    generation: int = 1,
) -> None:
    """Dead, and archived."""
    letters = [die(deployment, each, reason, generation=generation) for each in notifications]
    deployment.store.add(letters)


def deliver(deployment: Deployment, notification: Notification, generation: int) -> None:
    """As a worker would."""
    envelope = Envelope(notification=notification, generation=generation)
    claim = claimed(deployment, envelope)
    deployment.ledger.settle_sent(
        notification.id,
        claim,
        digest=notification.digest,
        receipt=Receipt(provider="texts"),
        retention=RETENTION,
    )
