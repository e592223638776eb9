"""Writes down what came of an attempt, in one round trip with all else there is to tell of it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from notify.ledger import AttemptRecord, Claimed, Ledger, NextStep
from notify.message import Envelope
from notify.outcomes import Outcome, Reason, Receipt
from notify.redisclient import Question

# The ledger's state for each kind of next step.
_STATES: Final = {"delay": "waiting", "dead": "dead"}


class Offered(NamedTuple):
    """What came of it at one provider, and what Redis is told of that beside the next step."""

    outcome: Outcome
    record: AttemptRecord
    beside: tuple[Question[Any], ...] = ()


def settle(
    ledger: Ledger,
    envelope: Envelope,
    claim: Claimed,
    offered: Offered,
    step: NextStep | None,
    retention: float,
) -> Sequence[dict[str, Any]] | None:
    """Writes an outcome; what it needs next counts as unpublished.

    The attempts, where they are to be archived; None where the claim was no longer ours.
    Raises ``LedgerUnavailable``; then it is to be repeated.
    """
    notification, beside = envelope.notification, offered.beside
    if step is None and isinstance(offered.outcome, Receipt):
        settled = ledger.settle_sent(
            notification.id,
            claim,
            digest=notification.digest,
            receipt=offered.outcome,
            retention=retention,
            beside=beside,
        )
        return () if settled else None
    assert step is not None
    attempts = ledger.asking_attempts(notification.id) if step.do == "dead" else None
    settled = ledger.settle_step(
        notification.id,
        claim,
        state="unknown" if step.reason == Reason.UNKNOWN_OUTCOME else _STATES[step.do],
        attempt=offered.record,
        step=step,
        retention=retention,
        beside=beside if attempts is None else (*beside, attempts),
    )
    if not settled:
        return None
    return () if attempts is None else attempts.answer
