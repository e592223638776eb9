"""How an attempt is recorded for people, logged and counted: masked, without content."""

import logging
import time
from datetime import UTC, datetime
from typing import Any

from notify.ledger import AttemptRecord, Claim, Claimed, NextStep
from notify.message import Envelope
from notify.metrics import Metrics
from notify.metrics.labels import reason
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
        answer=failure.answer if failure else "",
    )


class Journal:
    """Says what was done with each notification: a line in the log, and a count."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def attempt(self, envelope: Envelope, record: AttemptRecord, step: NextStep | None) -> None:
        """``step`` is what follows; nothing does after a delivery, or where another provider
        has the next turn."""
        names = {"delay": "retry", "dead": "dead"}
        without_step = "delivered" if record.outcome == "sent" else "next provider"
        self._count(envelope, record)
        self.step(
            names[step.do] if step else without_step,
            envelope,
            provider=record.provider,
            outcome=record.outcome,
            reason=record.reason,
            code=record.code,
            ms=record.ms,
            retry_in=step.rung if step and step.rung else None,
            dead_reason=step.reason if step else None,
        )

    def claim(self, envelope: Envelope, claim: Claim) -> None:
        """Counts what the ledger knew better."""
        if not isinstance(claim, Claimed):
            why = type(claim).__name__.lower()
            self._metrics.claims_refused.labels(*envelope.queue, why).inc()

    def _count(self, envelope: Envelope, record: AttemptRecord) -> None:
        metrics, queue = self._metrics, envelope.queue
        metrics.attempts.labels(*queue, record.provider, record.outcome, record.reason).inc()
        metrics.attempt_seconds.labels(queue[0], record.provider).observe(record.ms / 1000)
        if record.outcome == "sent":
            waited = (datetime.now(UTC) - envelope.first_queued).total_seconds()
            metrics.delivery_seconds.labels(*queue).observe(max(0.0, waited))

    def step(self, name: str, envelope: Envelope, **fields: Any) -> None:
        """``name`` is what was done; fields without a value are left out."""
        notification = envelope.notification
        why = reason(fields.get("dead_reason") or fields.get("reason"))
        self._metrics.notifications.labels(*envelope.queue, name, why).inc()
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
