"""How long a server asks us to wait, in every form in which servers say it. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST: Final = 86400.0

_SECONDS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?: *(?:s|secs?|seconds?))?", re.IGNORECASE)
_RESETS: Final = (
    *("RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"),
    "X-Ogw-RateLimit-Reset",  # Feishu and Lark
)
# Nobody asks for 30 years: a number like that is an instant, in seconds since 1970, or in
# milliseconds where in seconds it would be in the year 5138.
_EPOCH: Final = 1e9
_EPOCH_MS: Final = 1e11


def wait_asked(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait according to ``Retry-After``, at most a day; None if it says nothing.

    Instants count from the answer's own ``Date``, so that a wrong clock does not matter.
    """
    return _seconds(headers.get("Retry-After"), _now(headers, now))


def patience_asked(headers: Mapping[str, str], now: datetime) -> float | None:
    """The same of a server that gets too much, which may name its rate limit instead."""
    wait = wait_asked(headers, now)
    return reset_asked(headers, now) if wait is None else wait


def reset_asked(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the server's rate limit takes requests again, as far as it says so."""
    base = _now(headers, now)
    found = (_seconds(headers.get(name), base) for name in _RESETS)
    return next((seconds for seconds in found if seconds is not None), None)


def date_of(headers: Mapping[str, str]) -> datetime | None:
    """When the server says that it answered."""
    return _parse_date((headers.get("Date") or "").strip())


def _now(headers: Mapping[str, str], now: datetime) -> datetime:
    return date_of(headers) or now


def _seconds(value: str | None, now: datetime) -> float | None:
    text = (value or "").strip()
    until = _parse_date(text)
    if until is not None and not _SECONDS.fullmatch(text):
        return _ahead((until - now).total_seconds())
    # Repeated headers arrive as a list: the longest wait satisfies all of them.
    numbers = [_SECONDS.fullmatch(part.strip()) for part in text.split(",")]
    waits = [_number(float(number[1]), now) for number in numbers if number]
    return max((wait for wait in waits if wait is not None), default=None)


def _number(seconds: float, now: datetime) -> float | None:
    if seconds > _EPOCH_MS:
        seconds /= 1000
    if seconds > _EPOCH:
        return _ahead(seconds - now.timestamp())
    return min(seconds, LONGEST)


def _ahead(seconds: float) -> float | None:
    """An instant that has passed asks for nothing."""
    return min(seconds, LONGEST) if seconds > 0 else None


def _parse_date(text: str) -> datetime | None:
    """The three forms of HTTP (RFC 9110, 5.6.7), and ISO 8601, which some send instead."""
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            parsed = parse(text)
            zoned = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
            return zoned.astimezone(UTC)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
