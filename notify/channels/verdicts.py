"""What an HTTP answer says about a delivery. Pure."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from notify.outcomes import DeliveryFailure, PermanentFailure, Reason, TemporaryFailure

LONGEST_RETRY_AFTER: Final = 86400.0

_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_BUSY: Final = frozenset({429, 503})
_TEMPORARY: Final = frozenset({408, 425})
_DENIED: Final = frozenset({401, 403, 407})


def verdict(
    status: int, retry_after: str | None, date: str | None, now: datetime
) -> DeliveryFailure | None:
    """The failure a status means, or None if the message was accepted."""
    if 200 <= status <= 299:
        return None
    reason = _permanent(status)
    if reason is not None:
        return PermanentFailure(reason, f"HTTP {status}", code=str(status))
    return TemporaryFailure(
        _temporary(status),
        f"HTTP {status}",
        code=str(status),
        retry_after=parse_retry_after(retry_after, date, now),
    )


def _permanent(status: int) -> Reason | None:
    if 300 <= status <= 399:
        return Reason.REDIRECTED
    if status == 410:
        return Reason.ENDPOINT_GONE
    if 400 <= status <= 499 and status not in _BUSY | _TEMPORARY | _DENIED:
        return Reason.REFUSED
    return None


def _temporary(status: int) -> Reason:
    if status in _BUSY:
        return Reason.PROVIDER_BUSY
    # Wrong credentials are ours to mend, and no reason to archive everything meanwhile.
    return Reason.PROVIDER_DENIED if status in _DENIED else Reason.PROVIDER_ERROR


def parse_retry_after(value: str | None, date: str | None, now: datetime) -> float | None:
    """Seconds to wait, at most a day; None if the header says nothing of use.

    A date counts from the answer's own ``Date``, so that a wrong clock does not matter.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), LONGEST_RETRY_AFTER)
    until = _parse_date(text)
    if until is None:
        return None
    seconds = (until - (_parse_date(date) or now)).total_seconds()
    return min(seconds, LONGEST_RETRY_AFTER) if seconds > 0 else None


def _parse_date(text: str | None) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text or "")
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
