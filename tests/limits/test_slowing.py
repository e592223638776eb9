"""What follows when a provider says that it gets too much."""

import math
import threading

import pytest

from notify.config import BreakerSettings
from notify.limits import Denied, Limits, Sample
from tests.limits.desk import SMS, Desk, limited

pytestmark = pytest.mark.redis


@pytest.mark.parametrize(
    ("retry_after", "held"),
    [(None, 1), (0, 1), (-5, 1), (0.5, 0.5), (30, 30), (3600, 300), (math.inf, 300)],
)
def test_all_sends_are_held(retry_after: float | None, held: float, desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    desk.slow_down(retry_after)
    assert desk.state.held == held
    for urgent in (False, True):
        assert desk.denied(urgent=urgent) == Denied(why="slowed", wait=held)
    desk.clock.pass_(held)
    assert desk.granted().wait == 0
    assert desk.granted(urgent=True).wait == 0.2


def test_a_hold_is_never_shortened(desk: Desk) -> None:
    desk.slow_down(30)
    desk.slow_down(1)
    assert desk.state.held == 30
    desk.slow_down(60)
    assert desk.state.held == 60


def test_the_rate_is_halved_once_a_second_and_once_a_hold(desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    for _ in range(20):
        desk.slow_down(0.25)
    assert desk.state.factor == 0.5
    desk.clock.pass_(0.5)
    desk.slow_down(0.25)
    desk.clock.pass_(0.5)
    desk.slow_down(30)
    assert desk.state.factor == pytest.approx(0.25, abs=0.01)
    # Answers to what was sent before the hold.
    for _ in range(10):
        desk.clock.pass_(2)
        desk.slow_down()
    assert desk.state.factor == pytest.approx(0.25, abs=0.01)


def test_there_is_a_floor(desk: Desk) -> None:
    for _ in range(10):
        desk.slow_down()
        desk.clock.pass_(1)
    assert desk.state.factor == 0.05


def test_the_rate_grows_back_within_a_minute(desk: Desk) -> None:
    desk.settings = limited(rate="10/s", burst=100)
    desk.slow_down(30)
    assert desk.state.factor == 0.5
    desk.clock.pass_(30)
    # Without a burst while slowed.
    assert [desk.granted().wait, desk.granted().wait] == [0, 0.2]
    assert desk.denied().why == "rate"
    desk.clock.pass_(30)
    assert desk.state.factor == 0.75
    assert [desk.granted().wait for _ in range(2)] == [0, pytest.approx(0.1 / 0.75, abs=1e-5)]
    desk.clock.pass_(29.75)
    before = desk.state
    desk.clock.pass_(0.25)
    assert (before.slowed, desk.state.slowed) == (True, False)
    assert len(desk.all_at_once()) > 100
    stored = desk.dump()[f"{desk.prefix}:a:sms:texts:pace"]
    assert isinstance(stored, dict)
    assert not stored.keys() & {"f", "hold", "cut", "base"}


def test_without_a_rate_the_measured_one_is_halved_and_then_forgotten(desk: Desk) -> None:
    breaker = {"texts": BreakerSettings()}
    for _ in range(10):
        desk.limits.report("sms", {"texts": Sample(ok=18, failed=2, seconds=4)}, breaker)
        desk.clock.pass_(1)
    assert desk.state.rate == 20
    desk.slow_down()
    desk.clock.pass_(1)
    # 10/s, in messages: what a message costs is of no rate.
    waits = [g.wait for g in desk.all_at_once(cost=1000)]
    assert waits == [0, 0.1, 0.2]
    assert desk.denied().why == "slowed"
    desk.clock.pass_(60)
    assert not desk.state.slowed
    assert {desk.granted(cost=1000).wait for _ in range(100)} == {0}


def test_without_a_measurement_it_is_one_a_second(desk: Desk) -> None:
    desk.slow_down()
    desk.clock.pass_(1)
    assert desk.granted().wait == 0
    desk.clock.pass_(1.75)
    assert desk.granted().wait == pytest.approx(0.25, abs=0.01)


def test_fifty_threads_halve_once(limits: Limits) -> None:
    barrier = threading.Barrier(50)

    def report() -> None:
        barrier.wait()
        limits.slow_down(SMS, limited(), retry_after=30)

    threads = [threading.Thread(target=report) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert limits.states("sms", ["texts"])["texts"].factor == 0.5
