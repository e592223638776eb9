"""Endpoints that only fail, and when that is enough."""

import threading

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notify.local import Servers
from notify.suppressions import ENDPOINT_FAILING, Failing, Suppression, Suppressions
from notify.suppressions.recipients import digest
from tests.suppressions.values import DAY, HOOK, Clock

pytestmark = pytest.mark.redis
OTHER = "https://example.org/"


def note(
    suppressions: Suppressions, ok: bool, minimum: int = 3, recipient: str = HOOK
) -> Suppression | None:
    return suppressions.note(
        "webhook", recipient, ok=ok, give_up_after=5 * DAY, minimum=minimum, unreported=True
    )


def test_only_failures_for_so_long(suppressions: Suppressions, clock: Clock) -> None:
    for _ in range(5):
        assert note(suppressions, False) is None
        clock.pass_(DAY)
    given_up = note(suppressions, False)
    assert given_up == Suppression(
        channel="webhook",
        recipient=HOOK,
        digest=digest("webhook", HOOK),
        reason=ENDPOINT_FAILING,
        source="notify",
        by="",
        since=clock.instant,
        unreported=True,
    )
    assert suppressions.get("webhook", HOOK) == given_up
    # It is said once, and nothing is counted any more.
    assert note(suppressions, False) is None
    assert suppressions.failing("webhook") == []


def test_not_a_moment_too_early(suppressions: Suppressions, clock: Clock) -> None:
    for _ in range(100):
        assert note(suppressions, False) is None
    clock.pass_(5 * DAY - 0.001)
    assert note(suppressions, False) is None
    clock.pass_(0.001)
    assert note(suppressions, False)


def test_not_after_too_few(suppressions: Suppressions, clock: Clock) -> None:
    assert note(suppressions, False) is None
    clock.pass_(6 * DAY)
    assert note(suppressions, False) is None
    assert note(suppressions, False)


def test_a_success_begins_anew(suppressions: Suppressions, clock: Clock) -> None:
    for _ in range(3):
        assert note(suppressions, False) is None
    clock.pass_(5 * DAY)
    assert note(suppressions, True) is None
    assert suppressions.failing("webhook") == []
    for _ in range(10):
        assert note(suppressions, False) is None
    clock.pass_(5 * DAY)
    assert note(suppressions, False)


def test_a_success_told_beside_something_else_begins_anew(
    suppressions: Suppressions, clock: Clock
) -> None:
    for _ in range(2):
        note(suppressions, False)
        clock.pass_(3 * DAY)
    suppressions._line.ask(suppressions.asking_success("webhook", HOOK))
    assert suppressions.failing("webhook") == []
    assert note(suppressions, False) is None


def test_a_success_does_not_end_a_suppression(suppressions: Suppressions) -> None:
    """What was under way when it was disabled; only a person enables it."""
    suppressions.add("webhook", HOOK, reason="endpoint_gone", source="hooks")
    assert note(suppressions, True) is None
    assert suppressions.get("webhook", HOOK)


def test_once_enabled_it_has_all_its_time_again(suppressions: Suppressions, clock: Clock) -> None:
    for _ in range(3):
        note(suppressions, False)
        clock.pass_(3 * DAY)
    assert suppressions.remove("webhook", HOOK)
    for _ in range(9):
        assert note(suppressions, False) is None


def test_others_do_not_count(suppressions: Suppressions, clock: Clock) -> None:
    for _ in range(5):
        assert note(suppressions, False) is None
        clock.pass_(2 * DAY)
        assert note(suppressions, False, recipient=OTHER) is None
        assert note(suppressions, True, recipient=OTHER) is None
        assert note(suppressions, True) is None


def test_those_that_fail_can_be_listed(suppressions: Suppressions, clock: Clock) -> None:
    note(suppressions, False)
    began = clock.instant
    clock.pass_(60)
    note(suppressions, False)
    clock.pass_(60)
    note(suppressions, False, recipient=OTHER)
    other, first = suppressions.failing("webhook")
    assert other.recipient == OTHER
    assert first == Failing(
        channel="webhook",
        recipient=HOOK,
        digest=digest("webhook", HOOK),
        failures=2,
        since=began,
        last=began.fromtimestamp(began.timestamp() + 60, began.tzinfo),
    )
    assert suppressions.failing("webhook", limit=1) == [other]


def test_streaks_expire_and_no_key_tells_the_recipient(
    suppressions: Suppressions, raw: redis.Redis, prefix: str
) -> None:
    note(suppressions, False)
    keys = list(raw.scan_iter(f"{prefix}:*"))
    assert len(keys) == 2
    for key in keys:
        assert "example" not in key
        assert 10 * DAY - 60 < raw.ttl(key) <= 10 * DAY


def test_what_expired_leaves_the_list(
    suppressions: Suppressions, clock: Clock, raw: redis.Redis, prefix: str
) -> None:
    note(suppressions, False)
    raw.delete(f"{prefix}:f:webhook:{digest('webhook', HOOK)}")
    assert suppressions.failing("webhook") == []
    clock.pass_(10 * DAY)
    note(suppressions, False, recipient=OTHER)
    assert raw.zcard(f"{prefix}:f:webhook") == 1


def test_a_clock_that_was_put_back_does_not_lengthen_a_streak(
    suppressions: Suppressions, clock: Clock
) -> None:
    for _ in range(9):
        note(suppressions, False)
    clock.pass_(-30 * DAY)
    assert note(suppressions, False) is None
    (streak,) = suppressions.failing("webhook")
    assert (streak.failures, streak.since) == (1, clock.instant)


def test_of_twenty_failures_at_once_one_gives_it_up(
    suppressions: Suppressions, clock: Clock
) -> None:
    note(suppressions, False)
    clock.pass_(5 * DAY)
    barrier, found = threading.Barrier(20), []

    def work() -> None:
        barrier.wait()
        found.append(note(suppressions, False, minimum=11))

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in found if each]) == 1


EVENTS = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0])), max_size=30)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(EVENTS, st.integers(1, 4))
def test_it_gives_up_like_the_model(
    servers: Servers, prefix: str, events: list[tuple[bool, float]], minimum: int
) -> None:
    clock = Clock()
    suppressions = Suppressions(servers.redis_url, prefix=prefix, clock=clock)
    suppressions.remove("webhook", HOOK)
    streak: list[float] = []
    given_up = False
    try:
        for ok, days in events:
            clock.pass_(days * DAY)
            streak = [] if ok else [*streak, clock.now]
            long = bool(streak) and clock.now - streak[0] >= 5 * DAY and len(streak) >= minimum
            expected = long and not given_up
            given_up = given_up or long
            assert bool(note(suppressions, ok, minimum)) is expected
        assert bool(suppressions.get("webhook", HOOK)) is given_up
    finally:
        suppressions.close()
