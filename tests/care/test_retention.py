"""What the configured retention dooms, and how quietly it goes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notify.care import retention
from notify.config import RetentionSettings
from notify.outcomes import Reason
from notify.store import Filter, Store
from tests.archive.letters import dead

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture
def filled(store: Store) -> Store:
    """A letter of each of the last 12 tens of days, every second one refused, by email."""
    for n in range(12):
        changes: dict[str, Any] = {"reason": Reason.REFUSED, "channel": "email"} if n % 2 else {}
        store.add([dead(f"n-{n}", dead_at=NOW - 10 * n * DAY, **changes)])
    return store


def never() -> bool:
    return False


@pytest.mark.parametrize(
    ("values", "left"),
    [
        ({}, range(12)),
        ({"keep": "55d"}, range(6)),
        ({"keep": "10d"}, range(4)),
        ({"keep": "10d", "keep_open": "1d"}, range(2)),
        ({"keep_less": [{"reason": "refused", "keep": "55d"}]}, [0, 1, 2, 3, 4, 5, 6, 8, 10]),
        ({"keep_less": [{"channel": "email", "keep": "45d"}], "keep": "75d"}, [0, 1, 2, 3, 4, 6]),
    ],
)
def test_what_is_left(filled: Store, values: dict[str, Any], left: Any) -> None:
    settings = RetentionSettings.model_validate(values)
    plans = retention.plans(settings, NOW)
    doomed = sum(filled.doomed(*plans).values()) if plans else 0
    assert retention.purge(filled, settings, NOW, never) == doomed == 12 - len(left)
    found = filled.find(Filter())
    assert [row.letter.id for row in found] == [f"n-{n}" for n in left]


def test_the_newest_are_kept_beside_an_age(store: Store) -> None:
    store.add([dead(f"n-{n}", dead_at=NOW - timedelta(hours=n)) for n in range(1200)])
    settings = RetentionSettings.model_validate({"keep": "45d", "keep_most": 1000})
    asked: list[int] = []

    def stop() -> bool:
        asked.append(store.count(Filter()))
        return False

    retention.purge(store, settings, NOW, stop)
    # What is open and younger than keep_open stays, however many there are.
    assert store.count(Filter()) == 1000
    assert asked


def test_it_ends_when_it_is_told_to(store: Store) -> None:
    store.add([dead(f"n-{n}", dead_at=NOW - 90 * DAY) for n in range(700)])
    settings = RetentionSettings.model_validate({"keep": "45d"})
    assert retention.purge(store, settings, NOW, lambda: True) == 500
    assert store.count(Filter()) == 200
