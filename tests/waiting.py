"""Waiting for a condition with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def eventually(probe: Callable[[], _T | None], what: str, seconds: float = 20.0) -> _T:
    """Polls until ``probe`` answers something true, which it returns; fails by name."""
    deadline = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
