"""One leads: by a lock that is renewed, given back, run out or lost."""

from collections.abc import Callable, Iterator

import pytest
import redis

from notify.errors import LedgerUnavailable
from notify.local import Servers
from notify.schedule import leader as module
from notify.schedule.leader import MARGIN, STUCK, TTL, Leader, elapsed
from tests.broker.proxy import Proxy
from tests.waiting import eventually

pytestmark = pytest.mark.redis


class Clock:
    """Goes on by itself, and can be made to jump, as after a pause."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return elapsed() + self.ahead


@pytest.fixture
def key(prefix: str) -> str:
    return f"{prefix}:beat::lock"


@pytest.fixture
def candidate(servers: Servers, key: str) -> Iterator[Callable[..., Leader]]:
    made: list[Leader] = []

    def make(url: str = "", **options: object) -> Leader:
        made.append(Leader(url or servers.redis_url, key, timeout=1.0, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_one_leads_until_it_gives_the_lock_back(
    candidate: Callable[..., Leader], raw: redis.Redis, key: str
) -> None:
    first, second = candidate(), candidate()
    first.start()
    second.start()
    assert (first.term(), second.term()) == (1, 0)
    assert first.holds(1)
    assert second.holder == first.holder != ""
    assert 0 < raw.pttl(key) <= TTL * 1000
    first.stop()
    assert (first.term(), first.holds(1)) == (0, False)
    eventually(second.term, "the second leads", 5)


def test_a_lock_that_is_not_given_back_runs_out(candidate: Callable[..., Leader]) -> None:
    dead, other = candidate(ttl=MARGIN + 1), candidate(ttl=MARGIN + 1)
    dead.attempt()
    other.start()
    assert other.term() == 0
    eventually(other.term, "the other leads", MARGIN + 5)
    assert dead.term() == 0


def test_it_is_renewed_for_as_long_as_the_loop_lives(
    candidate: Callable[..., Leader], monkeypatch: pytest.MonkeyPatch, raw: redis.Redis, key: str
) -> None:
    monkeypatch.setattr(module, "RENEW_EVERY", 0.05)
    clock = Clock()
    leading = candidate(clock=clock)
    leading.start()
    raw.pexpire(key, 500)
    eventually(lambda: raw.pttl(key) > 5000, "a renewal")
    clock.ahead = STUCK + 1
    eventually(lambda: leading.trouble, "the loop to be found stuck")
    assert leading.term() == 0


def test_after_a_pause_its_term_is_over_before_it_has_asked_again(
    candidate: Callable[..., Leader], raw: redis.Redis, key: str
) -> None:
    clock = Clock()
    paused, other = candidate(clock=clock), candidate()
    paused.attempt()
    term = paused.term()
    assert paused.holds(term)
    clock.ahead = TTL - MARGIN + 0.1
    assert not paused.holds(term)
    raw.delete(key)
    other.attempt()
    paused.attempt()
    assert (paused.term(), other.term()) == (0, 1)
    other.stop()
    paused.attempt()
    assert paused.term() == term + 1
    assert not paused.holds(term)


def test_what_another_holds_is_neither_renewed_nor_released(
    candidate: Callable[..., Leader], raw: redis.Redis, key: str
) -> None:
    late = candidate()
    late.attempt()
    raw.set(key, "other-host:1:x", px=60_000)
    late.attempt()
    assert late.term() == 0
    assert late.holder == "other-host"
    late.stop()
    assert raw.get(key) == "other-host:1:x"


def test_an_answer_that_was_lost_is_asked_for_again(
    candidate: Callable[..., Leader], servers: Servers, raw: redis.Redis, key: str
) -> None:
    raw.set(key, "other-host:1:x")
    with Proxy(servers.redis_url) as proxy:
        cut_off = candidate(proxy.url)
        cut_off.attempt()
        raw.delete(key)
        proxy.pause(requests=False)
        with pytest.raises(LedgerUnavailable):
            cut_off.attempt()
        assert raw.get(key) == cut_off.token
        assert cut_off.term() == 0
        proxy.flow()
        cut_off.attempt()
        assert cut_off.term() == 1
        cut_off.stop()


def test_without_redis_it_says_so_and_leads_until_it_must_not(
    candidate: Callable[..., Leader], monkeypatch: pytest.MonkeyPatch, servers: Servers
) -> None:
    monkeypatch.setattr(module, "RENEW_EVERY", 0.05)
    monkeypatch.setattr(module, "TRY_EVERY", 0.05)
    with Proxy(servers.redis_url) as proxy:
        leading = candidate(proxy.url, ttl=MARGIN + 2)
        leading.start()
        assert leading.term() == 1
        proxy.pause()
        eventually(lambda: leading.trouble, "trouble")
        eventually(lambda: not leading.term(), "the end of the term")
        proxy.cut()
        proxy.flow()
        eventually(leading.term, "a new term, or the same", 10)
        assert not leading.died
        leading.stop()


def test_nobody_answers_at_all(candidate: Callable[..., Leader]) -> None:
    with pytest.raises(LedgerUnavailable, match="Redis"):
        candidate("redis://:hunter2@127.0.0.1:1/0").start()
