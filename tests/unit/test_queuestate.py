"""What is said of a ledger that is full, or has lost keys."""

from datetime import UTC, datetime

import pytest

from notify.ledger import Health
from notify.queuestate import ledger_alarms

SINCE = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("used", "limit", "at_risk", "words"),
    [
        (10, 0, 0, []),
        (70, 100, 0, []),
        (71, 100, 0, ["71% of its memory"]),
        (10, 100, 3, ["2026-11-30 12:00:00 UTC; at most 3 later"]),
        (99, 100, 1, ["99% of its memory", "at most 1 later"]),
    ],
)
def test_ledger_alarms(used: int, limit: int, at_risk: int, words: list[str]) -> None:
    health = Health(intact_since=SINCE, at_risk=at_risk, used_bytes=used, limit_bytes=limit)
    alarms = ledger_alarms(health)
    assert len(alarms) == len(words)
    for alarm, word in zip(alarms, words, strict=True):
        assert word in alarm
