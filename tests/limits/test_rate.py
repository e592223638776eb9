"""Slots of a rate, at a time that stands still."""

from itertools import pairwise

import pytest

from notify.config import LimitSettings
from notify.limits import Denied
from tests.limits.desk import START, Desk, limited

pytestmark = pytest.mark.redis


def slots(desk: Desk, *, urgent: bool = False, cost: float = 1) -> list[float]:
    """The waits of all that is granted now, in milliseconds."""
    return [round(g.wait * 1000, 1) for g in desk.all_at_once(cost, urgent=urgent)]


def test_slots_are_given_out_a_quarter_second_ahead(desk: Desk) -> None:
    desk.settings = limited(rate="50/s")
    first = desk.granted()
    assert first.at == START
    assert slots(desk) == [20.0 * n for n in range(1, 13)]
    assert desk.denied() == Denied(why="rate", wait=0.03)
    desk.clock.pass_(0.25)
    assert slots(desk) == [10.0 + 20 * n for n in range(13)]


def test_urgent_ones_five_seconds(desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    assert slots(desk) == [0, 100, 200]
    assert slots(desk, urgent=True) == [300 + 100 * n for n in range(48)]
    assert desk.denied(urgent=True).why == "rate"
    # Normal ones wait until the urgent ones have had their turn.
    desk.clock.pass_(4.75)
    assert desk.denied().why == "rate"
    desk.clock.pass_(0.125)
    assert slots(desk) == [225]


def test_there_is_no_burst_after_idling(desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    assert slots(desk) == [0, 100, 200]
    for _ in range(3):
        desk.clock.pass_(100)
        assert slots(desk) == [0, 100, 200]


def test_a_burst_is_what_was_configured_and_comes_back_with_time(desk: Desk) -> None:
    desk.settings = limited(rate="10/s", burst=5)
    assert slots(desk) == [0] * 6 + [100, 200]
    desk.clock.pass_(0.5)
    assert slots(desk) == [0, 0, 0, 100, 200]
    desk.clock.pass_(1000)
    assert slots(desk) == [0] * 6 + [100, 200]


@pytest.mark.parametrize("urgent", [False, True])
def test_what_costs_more_than_a_second_gets_through(urgent: bool, desk: Desk) -> None:
    desk.settings = limited(rate="1/s")
    assert desk.granted(6).wait == 0
    assert desk.denied(1).wait == pytest.approx(5.75, abs=0.05)
    desk.clock.pass_(6)
    assert desk.granted(6, urgent=urgent).wait == 0


def test_costs_add_up(desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    assert [desk.granted(cost).wait for cost in (1, 0.5, 1)] == [0, 0.1, 0.15]
    assert desk.granted(3).wait == 0.25
    assert desk.denied().wait == pytest.approx(0.3, abs=0.001)


def test_those_who_are_denied_come_back_one_after_the_other(desk: Desk) -> None:
    desk.settings = limited(rate="50/s")
    desk.all_at_once()
    waits = [desk.denied().wait for _ in range(40)]
    steps = [round(1000 * (b - a)) for a, b in pairwise(waits)]
    assert steps == [20] * 39
    for _ in range(200):
        assert desk.denied().wait <= 1.1


def test_a_slot_that_was_not_used_is_taken_back_unless_it_is_not_the_last(desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    first, second = desk.granted(), desk.granted()
    desk.release(first, unused=True)
    assert desk.granted().wait == 0.2
    third = desk.denied()
    assert third.why == "rate"
    desk.release(second, unused=True)
    assert desk.denied().why == "rate"
    desk.clock.pass_(1)
    last = desk.granted()
    desk.release(last, unused=True)
    desk.release(last, unused=True)
    assert desk.granted().wait == 0
    desk.release(last, unused=False)
    assert desk.granted().wait == 0.1


def test_a_clock_that_was_put_back_does_not_stop_the_account(desk: Desk) -> None:
    desk.settings = limited(rate="10/s", daily=100)
    desk.granted()
    desk.slow_down(300)
    desk.clock.pass_(-7 * 86400)
    assert (desk.state.held, desk.state.daily_used) == (0, 1)
    assert desk.granted().wait == 0
    assert desk.granted().wait == 0.1
    assert desk.state.daily_used == 2


def test_the_slowest_rate_is_kept_when_slowed_down(desk: Desk) -> None:
    desk.settings = limited(rate="6/h")
    desk.slow_down()
    desk.clock.pass_(1)
    desk.granted(3)
    assert desk.denied().wait == pytest.approx(3600, abs=1)
    desk.clock.pass_(3599.5)
    assert desk.denied().why == "rate"
    desk.clock.pass_(0.25)
    assert desk.granted().wait == 0.25


def test_without_limits_nothing_is_written(desk: Desk) -> None:
    granted = desk.granted()
    assert (granted.wait, granted.at) == (0, 0)
    desk.release(granted, unused=True)
    assert desk.dump() == {}


@pytest.mark.parametrize(
    "settings",
    [
        limited(rate="1/s"),
        limited(rate="6/h", burst=100),
        limited(concurrency=5),
        limited(daily=5),
        limited(rate="1/s", concurrency=5, daily=5),
    ],
)
def test_every_key_expires(settings: LimitSettings, desk: Desk) -> None:
    desk.settings = settings
    for urgent in (True, False):
        desk.all_at_once(urgent=urgent)
    desk.slow_down()
    keys = list(desk.dump())
    assert keys
    assert all(key.startswith(f"{desk.prefix}:a:sms:texts:") for key in keys)
    assert all(desk.raw.pttl(key) > 0 for key in keys)


def test_a_key_lives_until_its_burst_has_come_back(desk: Desk) -> None:
    desk.settings = limited(rate="6/h", burst=100)
    desk.granted()
    (key,) = desk.dump()
    assert desk.raw.pttl(key) / 1000 > 100 * 600
