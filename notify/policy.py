"""What to do with an outcome: a pure decision from outcome, attempt, policy and time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from notify.outcomes import DeliveryFailure, Outcome, PermanentFailure, Reason, UnknownOutcome

DEFAULT_RUNGS: Final = (5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600)

# Greylisting servers want the same client back after some minutes; RFC 6647 section 2.1
# speaks of delays from one minute to a day, five minutes being the common setting.
MINIMUM_DELAY: Final = {Reason.GREYLISTED: 300.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Exponential backoff with a horizon; all times in seconds.

    The n-th retry waits ``first * factor ** (n - 1)``, at most ``cap``, spread by
    ``jitter`` (0.2 is plus or minus a fifth). No attempt starts later than
    ``give_up_after`` after the notification was first queued.
    """

    first: float = 5.0
    factor: float = 2.0
    cap: float = 3600.0
    jitter: float = 0.2
    give_up_after: float = 86400.0
    max_retries: int | None = None
    resend_unknown: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """The provider took the message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """Try again in ``seconds``."""

    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Dead:
    """Give up and archive."""

    reason: Reason
    detail: str = ""


Decision = Delivered | Retry | Dead


def decide(
    outcome: Outcome,
    *,
    attempt: int,
    first_queued: datetime,
    expires_at: datetime | None,
    policy: RetryPolicy,
    now: datetime,
    random: float,
) -> Decision:
    """What follows from an attempt's outcome. ``random`` is uniform in [0, 1)."""
    if not isinstance(outcome, DeliveryFailure):
        return Delivered()
    if isinstance(outcome, PermanentFailure):
        return Dead(reason=outcome.reason, detail=outcome.detail)
    if isinstance(outcome, UnknownOutcome) and not policy.resend_unknown:
        return Dead(reason=Reason.UNKNOWN_OUTCOME, detail=f"last: {outcome.reason}")
    delay = backoff(policy, attempt, random, outcome)
    then = now + timedelta(seconds=delay)
    if expires_at is not None and then >= expires_at:
        return Dead(reason=Reason.EXPIRED, detail=f"last: {outcome.reason}")
    retries_used_up = policy.max_retries is not None and attempt > policy.max_retries
    # Subtracted, not added: a foreign message may claim a first_queued at the end of time.
    too_late = then - first_queued > timedelta(seconds=policy.give_up_after)
    if retries_used_up or too_late:
        return Dead(reason=Reason.RETRIES_EXHAUSTED, detail=f"last: {outcome.reason}")
    return Retry(seconds=delay)


def backoff(policy: RetryPolicy, attempt: int, random: float, failure: DeliveryFailure) -> float:
    """Seconds to wait after ``attempt`` (from 1) failed.

    ``Retry-After`` counts between the policy's own next delay and its cap.
    """
    # The exponent is bounded so that a large attempt number cannot overflow a float.
    base = min(policy.first * policy.factor ** min(attempt - 1, 64), policy.cap)
    wanted = failure.retry_after or 0.0
    asked = min(wanted, policy.cap) if math.isfinite(wanted) else 0.0
    least = max(MINIMUM_DELAY.get(failure.reason, 0.0), asked)
    if least > base:
        return least * (1.0 + policy.jitter * random)
    return max(least, base * (1.0 + policy.jitter * (2.0 * random - 1.0)))


def rung_for(seconds: float, rungs: Sequence[int]) -> int:
    """The shortest rung that waits at least ``seconds``; the longest where none does."""
    return next((rung for rung in rungs if rung >= seconds), rungs[-1])
