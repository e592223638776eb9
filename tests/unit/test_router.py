"""Turns: waited for, refused, gone on to the next provider; with limits that are scripted."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from notify.config import AnyProvider, LimitSettings, ThrottleSettings
from notify.config.matches import Match
from notify.errors import LedgerUnavailable
from notify.limits import Account, Denied, Granted, Sample, State
from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason, Receipt, TemporaryFailure, UnknownOutcome
from notify.redisclient import Question
from notify.routing import Barred, Fleet, NoProvider, Opening, Router
from tests.deployment import sms

LIMITED = LimitSettings.model_validate({"rate": "50/s"})
RECEIPT = Receipt(provider="a")
DOWN = TemporaryFailure(Reason.CONNECTION_FAILED)


def granted(wait: float = 0.0) -> Granted:
    return Granted(wait=wait, token="t", urgent=False, cost=1, day="", before="", after="")


class Scripted:
    """Stands for ``Limits``: answers as told, and keeps what it was told."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Granted | Denied]] = {}
        self.states: dict[str, State] = {}
        self.reported: list[Mapping[str, Sample]] = []
        self.released: list[tuple[str, bool]] = []
        self.slowed: list[tuple[str, float | None]] = []
        self.probes = {"a": True, "b": True}
        self.asked = 0
        self.away = False

    def reserve(self, account: Account, limits: Any, **_: Any) -> Granted | Denied:
        self.check()
        script = self.answers.get(account.provider, [])
        return script.pop(0) if script else granted()

    def release(self, account: Account, taken: Granted, limits: Any, *, unused: bool) -> None:
        self.released.append((account.provider, unused))

    def slow_down(self, account: Account, limits: Any, *, retry_after: float | None) -> None:
        self.slowed.append((account.provider, retry_after))

    def report(
        self, channel: str, samples: Mapping[str, Sample], settings: Mapping[str, Any]
    ) -> dict[str, State]:
        self.check()
        self.reported.append(samples)
        return {name: self.states.get(name, State()) for name in settings}

    def try_probe(self, account: Account, owner: str, seconds: float) -> bool:
        self.asked += 1
        return self.probes[account.provider]

    def asking_release(
        self, account: Account, taken: Granted, limits: Any, *, unused: bool, needed: bool
    ) -> list[Question[Any]]:
        return [Question(("release", account.provider, unused, needed))]

    def throttle(self, *_: Any, unless: str | None) -> float:
        return 7.0

    def check(self) -> None:
        if self.away:
            raise LedgerUnavailable("Redis: away")


class Fake:
    """A provider that is only named."""

    def __init__(self, name: str) -> None:
        self.name = name

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        return Receipt(provider=self.name)


class Clock:
    """Time passes only where somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.stopping = False

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> bool:
        self.now += seconds
        return self.stopping


class Robot(AnyProvider):
    """For one host."""

    @property
    def matches(self) -> Sequence[Match]:
        return (Match(host="robot.example"),)


class Bench:
    """A router of providers ``a`` and ``b``."""

    def __init__(
        self, a: LimitSettings, b: LimitSettings, *, robot: bool = False, **throttle: Any
    ) -> None:
        """``robot``: ``a`` is for one host, ``b`` for all others."""
        self.limits, self.clock = Scripted(), Clock()
        kind = Robot if robot else AnyProvider
        own = [kind(name="a", limits=a), AnyProvider(name="b", limits=b)]
        shared: Any = self.limits
        self.fleet = Fleet("sms", own, shared, owner="me", lease=30.0, clock=self.clock)
        self.router = Router(
            self.fleet,
            {each.name: (Fake(each.name), each) for each in own},
            shared,
            lease=30.0,
            throttle=ThrottleSettings(**throttle),
            pause=self.clock.pause,
            draw=lambda: 0.0,
            clock=self.clock,
        )

    def be(self, **states: State) -> None:
        self.limits.states = states
        self.fleet.report()


@pytest.fixture
def bench() -> Bench:
    return Bench(LimitSettings(), LimitSettings())


@pytest.fixture
def limited() -> Bench:
    return Bench(LIMITED, LIMITED)


NOTE = sms()


def test_the_first_provider_has_the_turn_and_without_limits_redis_is_not_asked(
    bench: Bench,
) -> None:
    bench.limits.away = True
    assert bench.router.turn(NOTE).name == "a"
    assert bench.router.turn(NOTE, pinned="b").name == "b"


def test_a_slot_ahead_is_waited_for(limited: Bench) -> None:
    limited.limits.answers["a"] = [granted(0.2)]
    assert limited.router.turn(NOTE).granted == granted(0.2)
    assert limited.clock.now == 1000.2


def test_who_is_denied_asks_again_when_told(limited: Bench) -> None:
    limited.limits.answers["a"] = [Denied(wait=0.3, why="rate"), Denied(wait=0.1, why="slowed")]
    assert limited.router.turn(NOTE).name == "a"
    assert limited.clock.now == pytest.approx(1000.4)


def test_a_breaker_that_opens_while_somebody_waits_sends_him_to_the_next(limited: Bench) -> None:
    limited.limits.answers["a"] = [Denied(wait=0.3, why="rate")] * 1000
    limited.be(a=State(breaker="open"))
    assert limited.router.turn(NOTE).name == "b"


def test_a_daily_cap_that_is_reached_takes_the_provider_out_until_the_day_ends(
    limited: Bench,
) -> None:
    limited.limits.answers["a"] = [Denied(wait=3600, why="daily")]
    assert limited.router.turn(NOTE).name == "b"
    assert limited.router.turn(NOTE).name == "b"
    # Urgent ones have a share of their own.
    assert limited.router.turn(sms(priority="urgent")).name == "a"
    limited.clock.now += 3600
    assert limited.router.turn(NOTE).name == "a"


def test_nobody_is_left(limited: Bench) -> None:
    limited.be(a=State(mode="disabled"), b=State(breaker="open"))
    with pytest.raises(NoProvider, match="a: disabled, b: breaker open") as raised:
        limited.router.turn(NOTE)
    assert raised.value.everywhere
    assert limited.fleet.opening(urgent=False) == (
        Opening.CLOSED,
        "a: disabled, b: breaker open",
    )


def test_a_stop_ends_the_wait_and_the_slot_is_given_back(limited: Bench) -> None:
    limited.clock.stopping = True
    limited.limits.answers["a"] = [granted(0.2)]
    with pytest.raises(NoProvider, match="stopping"):
        limited.router.turn(NOTE)
    assert limited.limits.released == [("a", True)]


def test_a_wait_without_end_ends(limited: Bench) -> None:
    limited.limits.answers = {"a": [Denied(wait=60, why="rate")] * 10_000}
    with pytest.raises(NoProvider, match="twenty minutes"):
        limited.router.turn(NOTE)
    assert limited.clock.now >= 2200


def test_redis_away_is_an_error_of_its_own(limited: Bench) -> None:
    limited.limits.away = True
    with pytest.raises(LedgerUnavailable):
        limited.router.turn(NOTE)


def test_the_next_provider_is_not_waited_for(limited: Bench) -> None:
    limited.limits.answers["b"] = [Denied(wait=0.3, why="rate")]
    assert limited.router.next_turn(NOTE, {"a"}) is None
    assert limited.clock.now == 1000.0
    limited.limits.answers["b"] = [granted(4.0)]
    assert limited.router.next_turn(NOTE, {"a"}) is None
    assert limited.limits.released == [("b", True)]
    following = limited.router.next_turn(NOTE, {"a"})
    assert following is not None
    assert following.name == "b"
    assert limited.router.next_turn(NOTE, {"a", "b"}) is None


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        (RECEIPT, False),
        (DOWN, True),
        (UnknownOutcome(Reason.CONNECTION_LOST), True),
        (PermanentFailure(Reason.RECIPIENT_REFUSED), False),
        (TemporaryFailure(Reason.GREYLISTED), False),
        (PermanentFailure(Reason.INTERNAL_ERROR), False),
    ],
)
def test_only_its_own_faults_count_against_a_provider(
    outcome: Any, failed: bool, bench: Bench
) -> None:
    turn = bench.router.turn(NOTE)
    bench.router.done(turn, outcome, 0.25)
    bench.fleet.report()
    expected = Sample(ok=int(not failed), failed=int(failed), seconds=0.25)
    assert bench.limits.reported[-1] == {"a": expected}
    bench.fleet.report()
    assert bench.limits.reported[-1] == {}


def test_what_could_not_be_reported_is_reported_the_next_time(bench: Bench) -> None:
    bench.router.done(bench.router.turn(NOTE), DOWN, 1.0)
    bench.limits.away = True
    with pytest.raises(LedgerUnavailable):
        bench.fleet.report()
    bench.limits.away = False
    bench.router.done(bench.router.turn(NOTE), RECEIPT, 1.0)
    bench.fleet.report()
    assert bench.limits.reported[-1] == {"a": Sample(ok=1, failed=1, seconds=2.0)}


def test_what_began_before_the_breaker_changed_is_told_apart(bench: Bench) -> None:
    turn = bench.router.turn(NOTE)
    bench.be(a=State(turn=1))
    bench.router.done(turn, RECEIPT, 0.5)
    bench.fleet.report()
    assert bench.limits.reported[-1] == {"a": Sample(late_ok=1, seconds=0.5)}


def test_a_provider_that_asks_for_less_gets_less(bench: Bench) -> None:
    busy = TemporaryFailure(Reason.PROVIDER_BUSY, retry_after=9.0, slow_down=True)
    bench.router.done(bench.router.turn(NOTE), busy, 0.1)
    assert bench.limits.slowed == [("a", 9.0)]
    # Without limits of its own it is asked for turns from now on.
    bench.be(a=State(factor=0.5))
    bench.limits.answers["a"] = [Denied(wait=0.5, why="slowed")]
    bench.router.turn(NOTE)
    assert bench.clock.now == 1000.5


def test_a_half_open_breaker_lets_one_message_of_this_worker_through(bench: Bench) -> None:
    bench.be(a=State(breaker="half_open"))
    trial = bench.router.turn(NOTE)
    assert (trial.name, trial.trial) == ("a", True)
    for _ in range(3):
        assert bench.router.turn(NOTE).name == "b"
    bench.limits.states = {}
    bench.router.done(trial, RECEIPT, 0.1)
    assert bench.limits.reported[-1]["a"].probed == "ok"
    assert bench.router.turn(NOTE) == bench.router.turn(NOTE)
    assert bench.router.turn(NOTE).name == "a"


def test_a_permit_whose_message_was_not_sent_goes_to_the_next(bench: Bench) -> None:
    bench.be(a=State(breaker="half_open"))
    bench.router.give_back(bench.router.turn(NOTE))
    assert bench.router.turn(NOTE).trial
    assert bench.router.turn(NOTE).name == "b"


def test_who_does_not_get_the_permit_goes_elsewhere_and_asks_once_a_second(bench: Bench) -> None:
    bench.limits.probes["a"] = False
    bench.be(a=State(breaker="half_open"))
    for _ in range(5):
        assert bench.router.turn(NOTE).name == "b"
    assert bench.limits.asked == 1
    bench.clock.now += 1.5
    bench.limits.probes["a"] = True
    assert bench.router.turn(NOTE).name == "a"


def test_the_consumer_opens_for_one_message_where_nothing_but_a_trial_is_left(
    bench: Bench,
) -> None:
    bench.be(a=State(breaker="half_open"), b=State(breaker="open"))
    assert bench.fleet.opening(urgent=False) == (Opening.TRIAL, "a: on trial, b: breaker open")
    # Without a message there is nothing that needs a permit.
    assert bench.limits.asked == 0
    assert bench.router.turn(NOTE).trial
    with pytest.raises(NoProvider):
        bench.router.turn(NOTE)
    bench.be()
    assert bench.fleet.opening(urgent=False)[0] is Opening.OPEN


def test_the_message_of_a_trial_waits_for_a_provider(bench: Bench) -> None:
    """Another worker tries the provider first; then the breaker is open again; then it works."""
    bench.limits.probes["a"] = False
    bench.be(a=State(breaker="half_open"), b=State(mode="disabled"))
    plain = bench.clock.pause
    states = [State(breaker="open"), State(breaker="half_open"), State()]

    def pause(seconds: float) -> bool:
        bench.be(a=states.pop(0), b=State(mode="disabled"))
        return plain(seconds)

    bench.router._pause = pause
    assert bench.router.turn(NOTE, holding=True).name == "a"
    assert states == []


def test_it_does_not_wait_where_another_provider_is_on_trial_that_it_is_not_for() -> None:
    """Held, it would keep that provider's messages waiting for twenty minutes."""
    bench = Bench(LimitSettings(), LimitSettings(), robot=True)
    bench.be(a=State(mode="disabled"), b=State(breaker="half_open"))
    hook = Notification(channel="webhook", recipient="https://robot.example/a", data={"n": 1})
    with pytest.raises(NoProvider, match="a: disabled, b: on trial") as raised:
        bench.router.turn(hook, holding=True)
    assert bench.clock.now == 1000.0
    assert not raised.value.everywhere
    other = hook.evolve(recipient="https://other.example/b")
    assert bench.router.turn(other, holding=True).trial


def test_it_does_not_wait_for_ever(bench: Bench) -> None:
    bench.be(a=State(breaker="open"), b=State(breaker="open"))
    with pytest.raises(NoProvider, match="twenty minutes") as raised:
        bench.router.turn(NOTE, holding=True)
    # It waits on the ladder then: handed back, it would come nearer to its delivery limit.
    assert not raised.value.everywhere


def test_a_pinned_one_whose_provider_somebody_else_tries_is_nobodys_reason_to_stop(
    bench: Bench,
) -> None:
    bench.limits.probes["a"] = False
    bench.be(a=State(breaker="half_open"))
    with pytest.raises(NoProvider) as raised:
        bench.router.turn(NOTE, pinned="a")
    assert not raised.value.everywhere


def test_one_thread_at_a_time_asks_for_the_next_slot(limited: Bench) -> None:
    busy, most = 0, 0
    lock = threading.Lock()
    plain = limited.limits.reserve

    def reserve(*arguments: Any, **options: Any) -> Granted | Denied:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        try:
            return plain(*arguments, **options)
        finally:
            with lock:
                busy -= 1

    limited.limits.answers["a"] = [granted(0.01)] * 20
    limited.limits.reserve = reserve  # type: ignore[method-assign]
    threads = [threading.Thread(target=limited.router.turn, args=(NOTE,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert most == 1


def test_while_there_are_slots_to_spare_nobody_waits_for_another_to_ask(limited: Bench) -> None:
    asking = threading.Barrier(8, timeout=20)
    limited.router.turn(NOTE)

    def reserve(*_: Any, **__: Any) -> Granted:
        asking.wait()
        return granted()

    limited.limits.reserve = reserve  # type: ignore[method-assign]
    with ThreadPoolExecutor(8) as pool:
        assert [turn.name for turn in pool.map(limited.router.turn, [NOTE] * 8)] == ["a"] * 8


def test_what_was_denied_once_is_asked_for_by_one_at_a_time_again(limited: Bench) -> None:
    limited.router.turn(NOTE)
    lane = limited.router._lanes["a"]
    assert not lane.short
    limited.limits.answers["a"] = [Denied(wait=0.3, why="concurrency")]
    limited.router.next_turn(NOTE, ())
    assert lane.short


def test_the_end_of_a_turn_is_told_beside_the_next_step(limited: Bench) -> None:
    """A refusal of that alone is nobody's concern: it ends by itself."""
    (over,) = limited.router.done(limited.router.turn(NOTE), RECEIPT, 0.1)
    assert over.words == ("release", "a", False, False)
    assert limited.limits.released == []


def test_a_turn_without_limits_has_no_end_to_tell(bench: Bench) -> None:
    assert bench.router.done(bench.router.turn(NOTE), RECEIPT, 0.1) == ()


def test_what_must_not_be_sent_takes_nothing_and_keeps_no_trial(limited: Bench) -> None:
    limited.limits.probes["a"] = True
    limited.be(a=State(breaker="half_open"), b=State(mode="disabled"))
    limited.limits.answers["a"] = [Denied(wait=0.001, why="barred")]
    with pytest.raises(Barred):
        limited.router.turn(NOTE)
    turn = limited.router.turn(NOTE)
    assert (turn.name, turn.trial) == ("a", True)


def test_what_must_not_be_sent_has_no_next_provider(limited: Bench) -> None:
    limited.limits.answers["b"] = [Denied(wait=0.001, why="barred")]
    assert limited.router.next_turn(NOTE, ["a"]) is None


def test_throttles_are_asked_where_there_are_any(bench: Bench) -> None:
    assert bench.router.throttled(NOTE) == 0.0
    window = {"messages": 1, "per": "1h"}
    assert Bench(LIMITED, LIMITED, per_recipient=[window]).router.throttled(NOTE) == 7.0


@pytest.mark.parametrize(
    ("channel", "one", "other", "same"),
    [
        ("email", "Ada@Example.com", "ada@example.COM", True),
        ("webhook", "https://Shop.example/Orders", "https://shop.example/Orders", True),
        ("webhook", "https://shop.example/Orders", "https://shop.example/orders", False),
        ("sms", "+4915112345678", "+4915112345679", False),
    ],
)
def test_a_throttle_counts_by_recipient_not_by_spelling(
    channel: str, one: str, other: str, same: bool
) -> None:
    bench = Bench(LIMITED, LIMITED, per_recipient=[{"messages": 1, "per": "1h"}])
    asked: list[str] = []

    def throttle(channel: str, recipient: str, *_: Any, unless: str | None) -> float:
        asked.append(recipient)
        return 0.0

    bench.limits.throttle = throttle  # type: ignore[method-assign, assignment]
    for recipient in (one, other):
        subject = "Hello" if channel == "email" else None
        note = Notification(channel=channel, recipient=recipient, body="Hello", subject=subject)
        bench.router.throttled(note)
    assert (asked[0] == asked[1]) is same
