"""The identity of one planned firing, and what is always the same for it. Pure."""

from datetime import UTC, datetime
from hashlib import sha256
from math import nextafter
from typing import Final

_BITS: Final = 53


def occurrence_id(name: str, planned: datetime) -> str:
    """The id of the notification that this firing is: the same whoever fires it, and when.

    Rows of an audience append ``:`` and their number. A planned instant that is no whole
    second has its microseconds after an underscore.
    """
    instant = planned.astimezone(UTC)
    fraction = f"_{instant.microsecond:06}" if instant.microsecond else ""
    return f"schedule:{name}:{instant:%Y%m%dT%H%M%S}{fraction}Z"


def jitter(name: str, planned: datetime, most: float) -> float:
    """Seconds from 0 until ``most``, evenly distributed over schedules and firings.

    Always the same for one firing, so that every beat waits equally long.
    """
    if most <= 0:
        return 0.0
    digest = sha256(occurrence_id(name, planned).encode()).digest()
    share = (int.from_bytes(digest[:8]) >> (64 - _BITS)) / 2.0**_BITS
    return min(share * most, nextafter(most, 0.0))
