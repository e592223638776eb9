"""When a provider counts as down, and how it comes back."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from notify.config import BreakerSettings
from notify.limits import Account, Limits, Sample, State
from notify.local import Servers
from tests.limits.desk import SMS, START, Clock, Desk

pytestmark = pytest.mark.redis

SETTINGS = BreakerSettings(window=30.0, minimum=10, error_rate=0.5, open_for=10.0, longest=25.0)
# A step: the seconds before it, who reports what, and what the breaker is then.
Step = tuple[float, str, Sample, str]


def ok(n: int = 1) -> Sample:
    return Sample(ok=n)


def failed(n: int = 1) -> Sample:
    return Sample(failed=n)


NONE = Sample()
PROBE_OK = Sample(ok=1, probed="ok")
PROBE_FAILED = Sample(failed=1, probed="failed")
OPEN: list[Step] = [(0, "a", failed(10), "open")]

SEQUENCES: dict[str, list[Step]] = {
    "too few to judge by": [(0, "a", failed(9), "closed"), (0, "b", ok(), "open")],
    "failures of two add up": [(0, "a", failed(5), "closed"), (1, "b", failed(5), "open")],
    "the rate counts, not the number": [
        (0, "a", Sample(ok=60, failed=40), "closed"),
        (1, "b", failed(19), "closed"),
        (1, "b", failed(1), "open"),
    ],
    "failures leave the window": [
        (0, "a", failed(9), "closed"),
        (30, "b", failed(9), "closed"),
        (20, "a", failed(1), "open"),
    ],
    "it is open for its time": [
        *OPEN,
        (9.75, "b", NONE, "open"),
        (0.25, "a", NONE, "half_open"),
        (500, "b", NONE, "half_open"),
    ],
    "what began earlier says nothing while open": [
        *OPEN,
        (1, "b", ok(100), "open"),
        (1, "b", failed(100), "open"),
        (8, "a", NONE, "half_open"),
    ],
    "nor while half open": [
        *OPEN,
        (10, "a", ok(100), "half_open"),
        (0, "b", failed(100), "half_open"),
        (0, "a", PROBE_OK, "closed"),
        # A fresh window.
        (0, "b", failed(8), "closed"),
    ],
    "nor when known to be late": [
        *OPEN,
        (10, "a", PROBE_OK, "closed"),
        (1, "b", Sample(late_failed=100), "closed"),
        (1, "b", Sample(ok=1, late_failed=100), "closed"),
        (0, "b", failed(8), "closed"),
        (0, "b", Sample(failed=1, late_ok=100), "open"),
    ],
    "a failed probe opens it for twice as long, up to the longest": [
        *OPEN,
        (10, "b", PROBE_FAILED, "open"),
        (19.75, "a", NONE, "open"),
        (0.25, "a", PROBE_FAILED, "open"),
        (24.75, "a", NONE, "open"),
        (0.25, "a", PROBE_FAILED, "open"),
        (24.75, "a", NONE, "open"),
        (0.25, "a", NONE, "half_open"),
    ],
    "a probe that comes back while open again says nothing": [
        *OPEN,
        (10, "a", PROBE_FAILED, "open"),
        (1, "b", PROBE_OK, "open"),
        (18.75, "b", PROBE_FAILED, "open"),
        (0.25, "a", NONE, "half_open"),
    ],
    "the doubled time stays until it was closed for a window": [
        *OPEN,
        (10, "a", PROBE_FAILED, "open"),
        (20, "a", PROBE_OK, "closed"),
        (29.75, "b", failed(10), "open"),
        (19.75, "a", NONE, "open"),
        (0.25, "a", PROBE_OK, "closed"),
        (30, "a", failed(10), "open"),
        (10, "a", NONE, "half_open"),
    ],
    "a probe while closed is a send like any other": [
        (0, "a", failed(9), "closed"),
        (0, "b", PROBE_OK, "open"),
    ],
}


@pytest.fixture
def reporters(servers: Servers, prefix: str, clock: Clock) -> Iterator[dict[str, Limits]]:
    both = {name: Limits(servers.redis_url, prefix=prefix, clock=clock) for name in "ab"}
    yield both
    for limits in both.values():
        limits.close()


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(name: str, reporters: dict[str, Limits], clock: Clock) -> None:
    for n, (pause, reporter, sample, breaker) in enumerate(SEQUENCES[name]):
        clock.pass_(pause)
        states = reporters[reporter].report("sms", {"texts": sample}, {"texts": SETTINGS})
        assert states["texts"].breaker == breaker, f"step {n + 1}"
        assert reporters["a"].states("sms", ["texts"]) == states


def report(desk: Desk, sample: Sample = NONE, **changes: Any) -> State:
    rules = SETTINGS.model_copy(update=changes)
    return desk.limits.report("sms", {"texts": sample}, {"texts": rules})["texts"]


def test_the_times_of_an_open_breaker(desk: Desk) -> None:
    began = datetime.fromtimestamp(START, UTC)
    assert report(desk).opened_at is None
    state = report(desk, failed(10))
    assert (state.opened_at, state.open_for, state.retry_in) == (began, 10, 10)
    desk.clock.pass_(4)
    assert report(desk).retry_in == 6
    desk.clock.pass_(6)
    state = report(desk, PROBE_FAILED)
    # Since when it is down, not since when it was tried last.
    assert (state.opened_at, state.open_for, state.retry_in) == (began, 20, 20)
    desk.clock.pass_(25)
    state = report(desk)
    assert (state.breaker, state.opened_at, state.retry_in) == ("half_open", began, 0)
    state = report(desk, PROBE_OK)
    assert (state.breaker, state.opened_at, state.open_for) == ("closed", None, 0)


def test_each_change_has_a_turn_of_its_own(desk: Desk) -> None:
    turns = [report(desk).turn]
    for pause, sample in ((0, failed(10)), (10, PROBE_FAILED), (20, PROBE_OK), (1, failed(10))):
        desk.clock.pass_(pause)
        turns.append(report(desk, sample).turn)
        assert report(desk, ok(0)).turn == turns[-1]
    assert turns == [0, 1, 2, 3, 4]


def test_what_is_shown_is_of_the_window_and_the_last_ten_seconds(desk: Desk) -> None:
    assert (report(desk).rate, report(desk).latency_ms) == (0, 0)
    for _ in range(20):
        report(desk, Sample(ok=6, failed=1, seconds=2, late_ok=2, late_failed=1))
        desk.clock.pass_(1)
    state = desk.state
    assert (state.ok, state.failed, state.latency_ms, state.rate) == (160, 40, 200, 10)
    desk.clock.pass_(5)
    assert (desk.state.ok, desk.state.rate) == (160, 5)
    desk.clock.pass_(5)
    assert (desk.state.rate, desk.state.ok) == (0, 136)
    desk.clock.pass_(30)
    assert (desk.state.ok, desk.state.failed, desk.state.latency_ms) == (0, 0, 0)


def test_switched_off_it_only_counts(desk: Desk) -> None:
    state = report(desk, failed(50), enabled=False)
    assert (state.breaker, state.failed) == ("closed", 50)
    assert report(desk, failed(50)).breaker == "open"
    assert report(desk, enabled=False).breaker == "closed"
    assert not desk.limits.try_probe(SMS, "me", 5)


def test_all_accounts_of_the_channel_at_once(desk: Desk) -> None:
    rules = dict.fromkeys(("one", "two", "three"), SETTINGS)
    samples = {"two": failed(10), "three": ok(5), "unheard of": failed(100)}
    states = desk.limits.report("sms", samples, rules)
    assert {name: state.breaker for name, state in states.items()} == {
        "one": "closed",
        "two": "open",
        "three": "closed",
    }
    assert (states["one"].ok, states["three"].ok) == (0, 5)
    assert desk.limits.states("email", ["two"])["two"].breaker == "closed"
    assert desk.limits.report("sms", {}, {}) == desk.limits.states("sms", []) == {}


def test_another_window_begins_anew(desk: Desk) -> None:
    report(desk, failed(9))
    assert report(desk, failed(9), window=60.0).breaker == "closed"
    assert report(desk, failed(1), window=60.0).breaker == "open"


def test_reading_changes_nothing(desk: Desk) -> None:
    report(desk, failed(10))
    desk.limits.set_mode(SMS, "disabled", by="ops")
    before = desk.dump()
    desk.clock.pass_(100)
    assert desk.state.breaker == "half_open"
    assert desk.dump() == before


def test_keys_expire_but_not_before_they_are_of_no_use(desk: Desk) -> None:
    report(desk, failed(10), longest=86400.0)
    (key,) = desk.dump()
    assert 2 * 86400 - 10 < desk.raw.pttl(key) / 1000 <= 2 * 86400
    assert report(desk) and list(desk.dump()) == [key]


def test_an_account_without_news_has_no_key(desk: Desk) -> None:
    report(desk)
    assert desk.dump() == {}


def test_a_probe_needs_a_half_open_breaker(desk: Desk) -> None:
    for breaker, granted in (("closed", False), ("open", False), ("half_open", True)):
        if breaker == "open":
            report(desk, failed(10))
        if breaker == "half_open":
            desk.clock.pass_(10)
        assert desk.state.breaker == breaker
        assert desk.limits.try_probe(SMS, "me", 5) is granted
        assert desk.state.probing is granted


def test_a_probe_belongs_to_its_owner_until_its_lease_ends_or_it_is_over(desk: Desk) -> None:
    report(desk, failed(10))
    desk.clock.pass_(10)
    assert desk.limits.try_probe(SMS, "me", 5)
    desk.clock.pass_(4.75)
    assert not desk.limits.try_probe(SMS, "you", 5)
    # An answer that was lost is asked for again.
    assert desk.limits.try_probe(SMS, "me", 5)
    desk.clock.pass_(4.75)
    assert not desk.limits.try_probe(SMS, "you", 5)
    desk.clock.pass_(0.25)
    assert desk.limits.try_probe(SMS, "you", 5)
    assert not report(desk, PROBE_FAILED).probing
    desk.clock.pass_(20)
    assert desk.limits.try_probe(SMS, "me", 5)


def test_a_clock_that_was_put_back_does_not_keep_it_open(desk: Desk) -> None:
    report(desk, failed(10))
    desk.clock.pass_(-86400)
    assert (desk.state.breaker, desk.state.retry_in) == ("half_open", 0)
    assert desk.limits.try_probe(SMS, "me", 5)
    assert report(desk, PROBE_OK).breaker == "closed"


def test_a_clock_that_was_put_back_does_not_keep_the_permit_of_one_who_died(desk: Desk) -> None:
    report(desk, failed(10))
    desk.clock.pass_(10)
    assert desk.limits.try_probe(SMS, "dead", 5)
    desk.clock.pass_(-86400)
    assert desk.limits.try_probe(SMS, "me", 5)
    assert not desk.limits.try_probe(SMS, "you", 5)


def test_one_of_twenty_threads_gets_the_probe(limits: Limits) -> None:
    quick = SETTINGS.model_copy(update={"open_for": 0.001})
    limits.report("sms", {"texts": failed(10)}, {"texts": quick})
    barrier = threading.Barrier(20)
    granted: list[bool] = []

    def probe(owner: str) -> None:
        barrier.wait()
        granted.append(limits.try_probe(SMS, owner, 60))

    threads = [threading.Thread(target=probe, args=(f"owner-{n}",)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == [False] * 19 + [True]


def test_accounts_are_told_apart(desk: Desk) -> None:
    report(desk, failed(10))
    desk.clock.pass_(10)
    other = Account(channel="email", provider="texts")
    assert not desk.limits.try_probe(other, "me", 5)
    assert desk.limits.try_probe(SMS, "me", 5)
