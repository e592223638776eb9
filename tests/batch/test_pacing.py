"""Rows a second, evenly; trouble and its end."""

from itertools import pairwise

import pytest

from notify.batch.pacing import Pacer
from notify.batch.trouble import Trouble
from notify.errors import BrokerUnavailable, QueueFull


def times(pacer: Pacer, count: int, late: float = 0.0) -> list[float]:
    now, went = 100.0, []
    for _ in range(count):
        now += pacer.wait(now) + late
        pacer.went(now)
        went.append(now)
    return went


def test_rows_go_evenly_at_the_rate() -> None:
    went = times(Pacer(50), 101)
    assert went[-1] - went[0] == pytest.approx(2.0)
    gaps = [b - a for a, b in pairwise(went)]
    assert max(gaps) == pytest.approx(min(gaps))


def test_sleeps_that_last_too_long_do_not_lower_the_rate() -> None:
    went = times(Pacer(50), 101, late=0.005)
    assert went[-1] - went[0] == pytest.approx(2.0, rel=0.01)


def test_a_pause_is_not_made_up_for() -> None:
    pacer = Pacer(10)
    pacer.went(0.0)
    pacer.went(60.0)
    assert pacer.wait(60.0) == pytest.approx(0.0)
    pacer.went(60.0)
    assert pacer.wait(60.0) == pytest.approx(0.1)


def test_without_a_rate_nothing_waits() -> None:
    pacer = Pacer(0)
    pacer.went(1.0)
    assert pacer.wait(1.0) == 0.0


def test_pauses_grow_and_patience_ends() -> None:
    trouble = Trouble(60.0)
    trouble.over()
    waits, now = [], 0.0
    for _ in range(7):
        trouble.note(BrokerUnavailable(), now)
        trouble.note(BrokerUnavailable(), now)
        waits.append(trouble.until - now)
        now = trouble.until
    assert waits == [0.5, 1, 2, 4, 8, 15, 15]
    trouble.check(60.0)
    with pytest.raises(BrokerUnavailable):
        trouble.check(61.0)
    trouble.over()
    trouble.check(1000.0)


def test_a_broker_that_was_never_there_is_said_at_once() -> None:
    trouble = Trouble(60.0)
    trouble.note(BrokerUnavailable(), 0.0)
    with pytest.raises(BrokerUnavailable):
        trouble.check(0.5)


def test_a_full_queue_is_waited_for() -> None:
    trouble = Trouble(60.0)
    trouble.note(QueueFull(), 0.0)
    trouble.check(59.0)
    with pytest.raises(QueueFull):
        trouble.check(61.0)
