"""How an attempt is recorded for people, and logged: masked, without content."""

import logging
import time
from datetime import datetime
from typing import Any

from notify.ledger import AttemptRecord, Claimed, NextStep
from notify.message import Envelope
from notify.outcomes import DeliveryFailure, Outcome
from notify.telemetry import event, mask

log = logging.getLogger("notify.deliver")


def record_attempt(
    claim: Claimed, outcome: Outcome, started: datetime, provider: str, begun: float
) -> AttemptRecord:
    failure = outcome if isinstance(outcome, DeliveryFailure) else None
    return AttemptRecord(
        generation=claim.generation,
        attempt=claim.attempt,
        at=started.isoformat(timespec="milliseconds"),
        provider=provider,
        outcome=failure.kind if failure else "sent",
        reason=failure.reason if failure else "",
        detail=failure.detail if failure else "",
        code=outcome.code,
        ms=round((time.monotonic() - begun) * 1000),
    )


def log_attempt(envelope: Envelope, record: AttemptRecord, step: NextStep | None) -> None:
    names = {"delay": "retry", "dead": "dead"}
    log_step(
        names[step.do] if step else "delivered",
        envelope,
        provider=record.provider,
        outcome=record.outcome,
        reason=record.reason,
        code=record.code,
        ms=record.ms,
        retry_in=step.rung if step and step.rung else None,
        dead_reason=step.reason if step else None,
    )


def log_step(name: str, envelope: Envelope, **fields: Any) -> None:
    notification = envelope.notification
    log.info(
        name,
        extra=event(
            id=notification.id,
            channel=notification.channel,
            priority=notification.priority,
            recipient=mask(notification.recipient),
            generation=envelope.generation,
            attempt=envelope.attempt,
            **fields,
        ),
    )
