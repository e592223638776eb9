"""What must succeed before a message is let go."""

import time
from typing import Any

import pytest

from notify import steps
from notify.errors import LedgerUnavailable
from notify.steps import HandBack, Steps


def test_a_worker_that_stops_tries_now_and_then_not_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pause that is told to stop comes back at once."""
    monkeypatch.setattr(steps, "_STOP_PATIENCE", 1.0)
    tries: list[float] = []

    def act() -> None:
        tries.append(time.monotonic())
        raise LedgerUnavailable("Redis: ConnectionError")

    nothing: Any = None
    with pytest.raises(HandBack):
        Steps(nothing, nothing, lambda seconds: True, nothing).held(act)
    assert 2 <= len(tries) <= 6
    assert tries[-1] - tries[0] < 3
