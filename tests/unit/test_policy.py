"""The retry decision as a table, and what holds for every input."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.config.models import RetrySettings
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    Receipt,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.policy import (
    DEFAULT_RUNGS,
    Dead,
    Decision,
    Delivered,
    Retry,
    RetryPolicy,
    backoff,
    decide,
    rung_for,
)

QUEUED = datetime(2027, 3, 1, 9, 0, tzinfo=UTC)
STEADY = RetryPolicy(jitter=0.0)
RESEND = replace(STEADY, resend_unknown=True)
BUSY = TemporaryFailure(Reason.PROVIDER_BUSY)
LOST = UnknownOutcome(Reason.CONNECTION_LOST)
REFUSED = PermanentFailure(Reason.RECIPIENT_REFUSED, "unknown number")
GREY = TemporaryFailure(Reason.GREYLISTED)


def after(
    outcome: Any,
    *,
    attempt: int = 1,
    policy: RetryPolicy = STEADY,
    age: float = 0.0,
    expires_in: float | None = None,
) -> Decision:
    """The decision ``age`` seconds after the notification was first queued."""
    now = QUEUED + timedelta(seconds=age)
    return decide(
        outcome,
        attempt=attempt,
        first_queued=QUEUED,
        expires_at=None if expires_in is None else now + timedelta(seconds=expires_in),
        policy=policy,
        now=now,
        random=0.5,
    )


def dead(reason: Reason, detail: str) -> Dead:
    return Dead(reason=reason, detail=detail)


def busy_for(seconds: float) -> TemporaryFailure:
    return TemporaryFailure(Reason.PROVIDER_BUSY, retry_after=seconds)


EXHAUSTED = dead(Reason.RETRIES_EXHAUSTED, "last: provider_busy")
EXPIRED = dead(Reason.EXPIRED, "last: provider_busy")


@pytest.mark.parametrize(
    ("outcome", "options", "expected"),
    [
        (Receipt(provider="texts"), {}, Delivered()),
        (Receipt(provider="texts"), {"age": 1e6, "expires_in": -1}, Delivered()),
        (REFUSED, {}, dead(Reason.RECIPIENT_REFUSED, "unknown number")),
        (LOST, {}, dead(Reason.UNKNOWN_OUTCOME, "last: connection_lost")),
        (LOST, {"policy": RESEND}, Retry(seconds=5)),
        (BUSY, {}, Retry(seconds=5)),
        (BUSY, {"attempt": 2}, Retry(seconds=10)),
        (BUSY, {"attempt": 10}, Retry(seconds=2560)),
        (BUSY, {"attempt": 11}, Retry(seconds=3600)),
        (BUSY, {"attempt": 10**9}, Retry(seconds=3600)),
        # Never after expires_at, and not at it either.
        (BUSY, {"expires_in": 5.001}, Retry(seconds=5)),
        (BUSY, {"expires_in": 5}, EXPIRED),
        (BUSY, {"expires_in": -1}, EXPIRED),
        # The horizon counts from the first queueing to the next attempt.
        (BUSY, {"age": 86400 - 5}, Retry(seconds=5)),
        (BUSY, {"age": 86400 - 4.9}, EXHAUSTED),
        (BUSY, {"age": 86400 - 4.9, "expires_in": 1}, EXPIRED),
        # The number of retries, not of attempts.
        (BUSY, {"policy": replace(STEADY, max_retries=0)}, EXHAUSTED),
        (BUSY, {"policy": replace(STEADY, max_retries=3), "attempt": 3}, Retry(seconds=20)),
        (BUSY, {"policy": replace(STEADY, max_retries=3), "attempt": 4}, EXHAUSTED),
        # Retry-After counts between the policy's own next delay and its cap.
        (busy_for(60), {}, Retry(seconds=60)),
        (busy_for(3), {}, Retry(seconds=5)),
        (busy_for(60), {"attempt": 6}, Retry(seconds=160)),
        (busy_for(1e12), {}, Retry(seconds=3600)),
        (busy_for(0), {}, Retry(seconds=5)),
        (busy_for(-60), {}, Retry(seconds=5)),
        (busy_for(math.nan), {}, Retry(seconds=5)),
        (busy_for(math.inf), {}, Retry(seconds=5)),
        (busy_for(-math.inf), {}, Retry(seconds=5)),
        # Greylisting has a minimum, whatever the policy says.
        (GREY, {}, Retry(seconds=300)),
        (GREY, {"policy": replace(STEADY, cap=10)}, Retry(seconds=300)),
        (GREY, {"attempt": 9}, Retry(seconds=1280)),
    ],
)
def test_what_follows_from_an_outcome(
    outcome: Any, options: dict[str, Any], expected: Decision
) -> None:
    assert after(outcome, **options) == expected


def test_a_foreign_instant_at_the_end_of_time_breaks_nothing() -> None:
    far = datetime.max.replace(tzinfo=UTC)
    decision = decide(
        BUSY,
        attempt=1,
        first_queued=far,
        expires_at=far,
        policy=STEADY,
        now=QUEUED,
        random=0.0,
    )
    assert decision == Retry(seconds=5)


def test_the_quick_preset_is_three_retries_after_5_10_and_20_seconds() -> None:
    settings = RetrySettings.model_validate({"preset": "quick"})
    policy = RetryPolicy(
        first=settings.first,
        factor=settings.factor,
        cap=settings.cap,
        jitter=settings.jitter,
        max_retries=settings.max_retries,
        give_up_after=settings.give_up_after.normal,
    )
    decisions = [after(BUSY, attempt=attempt, policy=policy) for attempt in (1, 2, 3, 4)]
    assert decisions == [Retry(seconds=5), Retry(seconds=10), Retry(seconds=20), EXHAUSTED]


def test_what_is_set_wins_over_the_preset() -> None:
    settings = RetrySettings.model_validate({"preset": "quick", "first": "7s", "max_retries": 1})
    assert (settings.first, settings.max_retries, settings.factor) == (7.0, 1, 2.0)


def test_jitter_spreads_both_ways_around_the_delay_but_never_below_a_minimum() -> None:
    policy = RetryPolicy(jitter=0.2)
    assert [backoff(policy, 3, random, BUSY) for random in (0.0, 0.5, 0.75)] == [16, 20, 22]
    assert [backoff(policy, 1, random, GREY) for random in (0.0, 0.5)] == [300, 330]


policies = st.builds(
    RetryPolicy,
    first=st.floats(0.001, 86400),
    factor=st.floats(1, 10),
    cap=st.floats(0.001, 366 * 86400),
    jitter=st.floats(0, 0.9),
)
failures = st.builds(
    TemporaryFailure,
    st.sampled_from(list(Reason)),
    retry_after=st.none() | st.floats(),
)


@given(policies, st.integers(1, 10**9), st.floats(0, 1, exclude_max=True), failures)
def test_every_delay_is_finite_and_within_its_bounds(
    policy: RetryPolicy, attempt: int, random: float, failure: DeliveryFailure
) -> None:
    delay = backoff(policy, attempt, random, failure)
    minimum = 300.0 if failure.reason == Reason.GREYLISTED else 0.0
    assert math.isfinite(delay)
    assert delay >= minimum
    assert delay <= max(policy.cap, minimum) * (1 + policy.jitter) + 1e-6


@given(policies, st.integers(1, 70), failures, st.floats(1, 3600))
def test_retry_after_never_shortens_a_delay(
    policy: RetryPolicy, attempt: int, failure: DeliveryFailure, wanted: float
) -> None:
    plain = TemporaryFailure(failure.reason)
    asking = TemporaryFailure(failure.reason, retry_after=wanted)
    delay = backoff(replace(policy, jitter=0.0), attempt, 0.5, asking)
    assert delay >= backoff(replace(policy, jitter=0.0), attempt, 0.5, plain)
    assert delay >= min(wanted, policy.cap)


@pytest.mark.parametrize(
    ("seconds", "rung"),
    [(0, 5), (4, 5), (5, 5), (5.001, 10), (6, 10), (3599, 3600), (3600, 3600), (4320, 3600)],
)
def test_a_delay_takes_the_shortest_rung_that_is_long_enough(seconds: float, rung: int) -> None:
    assert rung_for(seconds, DEFAULT_RUNGS) == rung
