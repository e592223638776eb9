"""How much one recipient gets."""

import threading
from collections import defaultdict
from uuid import uuid4

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notify.config import ThrottleSettings, Window
from notify.limits import Limits
from notify.local import Servers
from tests.limits.desk import Clock, Desk

pytestmark = pytest.mark.redis

ADA, BOB = "+491701234567", "+491707654321"
HOURLY = ThrottleSettings(
    per_recipient=(Window(messages=2, per=10.0), Window(messages=3, per=60.0)),
    same_content=(Window(messages=1, per=30.0),),
)


def throttle(desk: Desk, id: str, digest: str = "", recipient: str = ADA) -> float:
    return desk.limits.throttle("sms", recipient, digest or id, id, HOURLY)


def test_every_window_must_have_room(desk: Desk) -> None:
    assert [throttle(desk, id) for id in "abc"] == [0, 0, 10]
    desk.clock.pass_(4)
    assert throttle(desk, "c") == 6
    desk.clock.pass_(6)
    assert throttle(desk, "c") == 0
    assert throttle(desk, "d") == 50
    desk.clock.pass_(50)
    assert [throttle(desk, id) for id in "def"] == [0, 0, 10]


def test_a_window_does_not_reach_back_to_its_own_beginning(desk: Desk) -> None:
    assert throttle(desk, "a") == 0
    desk.clock.pass_(1)
    assert throttle(desk, "b") == 0
    desk.clock.pass_(9)
    assert throttle(desk, "c") == 0


def test_stricter_windows_count_what_was_sent_before_them(desk: Desk) -> None:
    for id in "abcde":
        one = ThrottleSettings(per_recipient=(Window(messages=5, per=60.0),))
        assert desk.limits.throttle("sms", ADA, id, id, one) == 0
        desk.clock.pass_(2)
    fewer = ThrottleSettings(per_recipient=(Window(messages=2, per=60.0),))
    # There is room when only the last of them is left: sent at 8, with the one before at 6.
    assert desk.limits.throttle("sms", ADA, "f", "f", fewer) == 56


def test_the_same_content_has_windows_of_its_own(desk: Desk) -> None:
    assert throttle(desk, "a", "hello") == 0
    desk.clock.pass_(5)
    assert throttle(desk, "b", "hello") == 25
    # What was refused was not counted anywhere.
    assert throttle(desk, "c", "bye") == 0
    assert throttle(desk, "d", "again") == 5


def test_others_do_not_count(desk: Desk) -> None:
    assert [throttle(desk, id) for id in "abc"] == [0, 0, 10]
    assert throttle(desk, "d", recipient=BOB) == 0
    assert desk.limits.throttle("email", ADA, "e", "e", HOURLY) == 0


def test_a_retry_is_not_counted_again(desk: Desk) -> None:
    assert [throttle(desk, id) for id in "aaaaab"] == [0] * 6
    assert throttle(desk, "c") == 10
    # Not even when it has no room left.
    assert throttle(desk, "a") == 0


def test_without_windows_redis_is_not_asked() -> None:
    nowhere = Limits("redis://127.0.0.1:1/0")
    assert nowhere.throttle("sms", ADA, "a", "a", ThrottleSettings()) == 0


def test_no_key_tells_the_recipient_and_every_key_expires(desk: Desk) -> None:
    throttle(desk, "a")
    keys = sorted(desk.dump())
    assert len(keys) == 2
    assert sorted(round(desk.raw.pttl(key) / 1000) for key in keys) == [30, 60]
    for key in keys:
        digits = key.removeprefix(f"{desk.prefix}:t:")
        assert len(digits) == 32
        assert int(digits, 16)


def test_of_twenty_threads_as_many_get_through_as_may(limits: Limits) -> None:
    wanted = ThrottleSettings(per_recipient=(Window(messages=5, per=600.0),))
    barrier = threading.Barrier(20)
    waits: list[float] = []

    def send(id: str) -> None:
        barrier.wait()
        waits.append(limits.throttle("sms", ADA, id, id, wanted))

    threads = [threading.Thread(target=send, args=(f"n{n}",)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert waits.count(0) == 5
    assert all(590 < wait <= 600 for wait in waits if wait)


WINDOWS = st.lists(
    st.builds(Window, messages=st.integers(1, 4), per=st.sampled_from([1.0, 2.5, 4.0, 8.0])),
    max_size=3,
).map(tuple)
SENDS = st.tuples(
    st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, 9.0]),
    st.sampled_from([ADA, BOB]),
    st.sampled_from("xy"),
    st.integers(0, 9),
)


class Model:
    """Lists of what was counted, by recipient and by content."""

    def __init__(self, wanted: ThrottleSettings) -> None:
        self.wanted = wanted
        self.logs: dict[tuple[str, ...], list[tuple[float, str]]] = defaultdict(list)

    def throttle(self, now: float, recipient: str, digest: str, id: str) -> float:
        groups: dict[tuple[str, ...], tuple[Window, ...]] = {
            (recipient,): self.wanted.per_recipient,
            (recipient, digest): self.wanted.same_content,
        }
        wait, room = 0.0, []
        for key, windows in groups.items():
            span = max((w.per for w in windows), default=0)
            log = self.logs[key]
            if any(known == id and at > now - span for at, known in log):
                continue
            room += [log] if windows else []
            for window in windows:
                ends = [at + window.per for at, _ in log if at > now - window.per]
                # It has room when all but `messages - 1` of them have left it.
                if len(ends) >= window.messages:
                    wait = max(wait, ends[len(ends) - window.messages] - now)
        if not wait:
            for log in room:
                log.append((now, id))
        return wait


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.builds(ThrottleSettings, per_recipient=WINDOWS, same_content=WINDOWS),
    st.lists(SENDS, max_size=25),
)
def test_it_throttles_like_the_model(
    servers: Servers,
    raw: redis.Redis,
    wanted: ThrottleSettings,
    sends: list[tuple[float, str, str, int]],
) -> None:
    clock, model = Clock(), Model(wanted)
    limits = Limits(servers.redis_url, prefix=f"t{uuid4().hex[:8]}", clock=clock)
    try:
        for pause, recipient, digest, number in sends:
            clock.pass_(pause)
            id = f"{digest}{number}"
            expected = model.throttle(clock.now, recipient, digest, id)
            assert limits.throttle("sms", recipient, digest, id, wanted) == expected
    finally:
        limits.close()
