from datetime import UTC, datetime
from typing import Any

import pytest

from notify.channels.verdicts import Answer, verdict
from notify.config.answers import AnswerRule
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEMPORARY = {
    401: Reason.PROVIDER_DENIED,
    402: Reason.PROVIDER_DENIED,
    403: Reason.PROVIDER_DENIED,
    407: Reason.PROVIDER_DENIED,
    408: Reason.PROVIDER_ERROR,
    421: Reason.PROVIDER_ERROR,
    425: Reason.PROVIDER_ERROR,
    429: Reason.PROVIDER_BUSY,
    503: Reason.PROVIDER_BUSY,
}


def _verdict(status: int, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return verdict(Answer(status=status, headers=named), (), NOW)


def _expected(status: int) -> tuple[type, Reason] | None:
    if status in TEMPORARY:
        return TemporaryFailure, TEMPORARY[status]
    if status == 410:
        return PermanentFailure, Reason.ENDPOINT_GONE
    return {
        2: None,
        3: (PermanentFailure, Reason.REDIRECTED),
        4: (PermanentFailure, Reason.REFUSED),
    }.get(status // 100, (TemporaryFailure, Reason.PROVIDER_ERROR))


@pytest.mark.parametrize("status", [0, 1, 99, *range(100, 600), 600, 999])
def test_every_status_has_one_meaning(status: int) -> None:
    failure = _verdict(status)
    assert (failure and (type(failure), failure.reason)) == _expected(status)
    if failure:
        assert (failure.code, failure.detail) == (str(status), f"HTTP {status}")
        assert failure.slow_down == (status == 429)
        assert failure.retry_after is None


def test_only_temporary_failures_carry_retry_after() -> None:
    assert _verdict(503, Retry_After="7").retry_after == 7.0
    assert _verdict(500, Retry_After="7").retry_after == 7.0
    assert _verdict(410, Retry_After="7").retry_after is None


@pytest.mark.parametrize("name", ["RateLimit_Reset", "X_RateLimit_Reset", "X_Rate_Limit_Reset"])
@pytest.mark.parametrize("value", ["30", str(int(NOW.timestamp()) + 30)])
def test_the_reset_of_a_rate_limit_stands_in_for_retry_after(name: str, value: str) -> None:
    for status in (429, 503):
        assert _verdict(status, **{name: value}).retry_after == 30.0
        assert _verdict(status, **{name: value}, Retry_After="7").retry_after == 7.0
        assert _verdict(status, **{name: value}, Retry_After="soon").retry_after == 30.0
    assert _verdict(500, **{name: value}).retry_after is None


def test_a_server_that_says_when_gets_too_much() -> None:
    assert _verdict(503, Retry_After="7").slow_down
    assert _verdict(503, RateLimit_Reset="7").slow_down
    assert not _verdict(503).slow_down
    assert not _verdict(500, Retry_After="7").slow_down


def test_the_reset_counts_too_where_a_rule_says_that_it_is_too_much() -> None:
    answer = Answer(status=200, headers={"X-RateLimit-Reset": "30"}, body=b'{"c":9}', whole=True)
    for slow_down, wait in ((True, 30.0), (False, None)):
        rule = AnswerRule(field="c", outcome="temporary", slow_down=slow_down)
        failure = verdict(answer, [rule], NOW)
        assert failure is not None
        assert failure.retry_after == wait
