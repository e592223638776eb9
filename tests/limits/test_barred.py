"""What must not be sent takes nothing of what the others may have."""

import pytest

from notify.config import LimitSettings, ThrottleSettings, Window
from notify.limits import Denied, Granted
from tests.limits.desk import SMS, Desk, limited

pytestmark = pytest.mark.redis

EVERYTHING = limited(rate="10/s", concurrency=10, daily=100)
HOURLY = ThrottleSettings(
    per_recipient=(Window(messages=1, per=3600.0),), same_content=(Window(messages=1, per=60.0),)
)


@pytest.fixture
def bar(desk: Desk) -> str:
    key = f"{desk.prefix}:bar"
    desk.raw.hset(key, "since", "1")
    return key


@pytest.mark.parametrize("settings", [EVERYTHING, LimitSettings()], ids=["limited", "unlimited"])
def test_no_slot_is_given_out_for_it(settings: LimitSettings, desk: Desk, bar: str) -> None:
    before = desk.dump()
    answer = desk.limits.reserve(SMS, settings, cost=1, urgent=False, lease=60, unless=bar)
    assert isinstance(answer, Denied)
    assert answer.why == "barred"
    assert desk.dump() == before
    desk.raw.delete(bar)
    answer = desk.limits.reserve(SMS, settings, cost=1, urgent=False, lease=60, unless=bar)
    assert isinstance(answer, Granted)


@pytest.mark.parametrize("windows", [HOURLY, HOURLY.model_copy(update={"same_content": ()})])
def test_it_is_not_counted_for_its_recipient(
    windows: ThrottleSettings, desk: Desk, bar: str
) -> None:
    def throttle(id: str) -> float:
        return desk.limits.throttle("sms", "+4917", "d", id, windows, unless=bar)

    before = desk.dump()
    assert [throttle(id) for id in "abc"] == [0.0, 0.0, 0.0]
    assert desk.dump() == before
    desk.raw.delete(bar)
    assert throttle("a") == 0.0
    assert throttle("b") > 0


def test_the_end_of_a_turn_can_be_told_beside_something_else(desk: Desk) -> None:
    desk.settings = limited(concurrency=1, urgent_share=0)
    granted = desk.granted()
    (over,) = desk.limits.asking_release(SMS, granted, desk.settings, unused=False)
    assert desk.denied().why == "concurrency"
    desk.limits._connection.ask([over])
    desk.granted()


def test_where_there_is_no_end_to_tell_nothing_is_asked(desk: Desk) -> None:
    desk.settings = limited(rate="10/s")
    granted = desk.granted()
    assert desk.limits.asking_release(SMS, granted, desk.settings, unused=False) == []
