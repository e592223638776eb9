"""Limits, throttles and breakers, in Redis: what may be sent now, and through whom."""

from notify.limits.limits import Limits
from notify.limits.values import (
    Account,
    Breaker,
    Denied,
    Granted,
    Mode,
    Sample,
    State,
    Why,
)

__all__ = [
    "Account",
    "Breaker",
    "Denied",
    "Granted",
    "Limits",
    "Mode",
    "Sample",
    "State",
    "Why",
]
