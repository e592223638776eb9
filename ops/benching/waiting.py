"""Waiting for a condition with a deadline."""

import time
from collections.abc import Callable

from benching.values import Broken

POLL = 0.02


def until(true: Callable[[], object], what: str, seconds: float, every: float = POLL) -> None:
    """Raises ``Broken`` when the time is over."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise Broken(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)
