from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from notify.channels.verdicts import LONGEST_RETRY_AFTER, parse_retry_after, verdict
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEMPORARY = {
    401: Reason.PROVIDER_DENIED,
    403: Reason.PROVIDER_DENIED,
    407: Reason.PROVIDER_DENIED,
    408: Reason.PROVIDER_ERROR,
    425: Reason.PROVIDER_ERROR,
    429: Reason.PROVIDER_BUSY,
    503: Reason.PROVIDER_BUSY,
}


def _expected(status: int) -> tuple[type, Reason] | None:
    if status in TEMPORARY:
        return TemporaryFailure, TEMPORARY[status]
    if status == 410:
        return PermanentFailure, Reason.ENDPOINT_GONE
    return {
        1: (TemporaryFailure, Reason.PROVIDER_ERROR),
        2: None,
        3: (PermanentFailure, Reason.REDIRECTED),
        4: (PermanentFailure, Reason.REFUSED),
    }.get(status // 100, (TemporaryFailure, Reason.PROVIDER_ERROR))


@pytest.mark.parametrize("status", [*range(100, 600), 600, 999])
def test_every_status_has_one_meaning(status: int) -> None:
    failure = verdict(status, None, None, NOW)
    assert (failure and (type(failure), failure.reason)) == _expected(status)
    if failure:
        assert (failure.code, failure.detail) == (str(status), f"HTTP {status}")


def _in(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        (None, None, None),
        ("", None, None),
        ("0", None, 0.0),
        (" 120 ", None, 120.0),
        ("1.5", None, 1.5),
        ("-5", None, None),
        ("+5", None, None),
        ("1e9", None, None),
        ("soon", None, None),
        ("٣", None, None),
        ("9999999999", None, LONGEST_RETRY_AFTER),
        ("9" * 6000, None, LONGEST_RETRY_AFTER),
        (_in(90), None, 90.0),
        (_in(-90), None, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None, None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None, LONGEST_RETRY_AFTER),
        ("Fri, 01 May 2026 12:01:00 -0000", None, 60.0),
        ("Fri, 99 May 2026 12:01:00 GMT", None, None),
        (_in(3690), _in(3600), 90.0),
        (_in(-3510), _in(-3600), 90.0),
        (_in(90), "nonsense", 90.0),
    ],
)
def test_retry_after(value: str | None, date: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, date, NOW) == seconds


def test_only_temporary_failures_carry_retry_after() -> None:
    busy = verdict(503, "7", None, NOW)
    gone = verdict(410, "7", None, NOW)
    assert busy and busy.retry_after == 7.0
    assert gone and gone.retry_after is None
