"""What a drill will do, decided before it begins."""

from collections import Counter
from itertools import islice

import pytest

from notify.config import load_settings
from notify.drill.plan import DRILLS, RATE, Kind, Plan
from notify.drill.traffic import LONGEST_DELAY, delays, traffic


def plan(name: str = "mixed", **changes: object) -> Plan:
    values = {"count": 6000, "every": DRILLS[name].every, "rate": 100.0, "seed": 7, "run": "r"}
    return Plan(name=name, **values | changes)  # type: ignore[arg-type]


def test_a_seed_repeats_the_faults_and_another_does_not() -> None:
    first, again, other = (list(islice(plan(seed=s).again(), 20)) for s in (7, 7, 8))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", [name for name in DRILLS if DRILLS[name].again])
def test_repeated_faults_come_at_the_rate_that_was_asked_for(name: str) -> None:
    planned = list(islice(plan(name, every=5.0).again(), 40))
    assert {each.kind for each in planned} == set(DRILLS[name].again)
    assert all(abs(each.after - 5.0 * n) <= 1.0 for n, each in enumerate(planned, start=1))
    assert all(0 <= each.draw < 1 for each in planned)


def test_a_broker_is_restarted_in_order_before_it_is_killed() -> None:
    """So that its queues are on the disk by then."""
    for name in ("broker-restart", "mixed"):
        wanted = [*plan(name).once(), *islice(plan(name).again(), 10)]
        kinds = [each.kind for each in wanted]
        assert kinds.index(Kind.BROKER_RESTART) < kinds.index(Kind.BROKER_KILL)


def test_mixed_has_everything_and_while_publishing() -> None:
    once = list(plan().once())
    assert Counter(each.kind for each in once) == {
        Kind.BROKER_RESTART: 1,
        Kind.BROKER_KILL: 1,
        Kind.REDIS_KILL: 1,
    }
    assert all(0 < each.after < 60 for each in once)
    assert {each.kind for each in islice(plan().again(), 8)} == {
        Kind.WORKER_KILL,
        Kind.ARCHIVER_KILL,
    }


@pytest.mark.parametrize(
    ("count", "outage", "rate", "begins"),
    [(5000, 30.0, 100.0, 10.0), (20_000, 30.0, 100.0, 40.0), (5000, 600.0, 5.0, 200.0)],
)
def test_the_first_provider_is_away_in_the_middle_of_publishing(
    count: int, outage: float, rate: float, begins: float
) -> None:
    asked = DRILLS["provider-outage"].rate(count, outage)
    assert asked == pytest.approx(rate)
    made = plan("provider-outage", count=count, outage=outage, rate=asked)
    (only,) = made.once()
    assert only.after == pytest.approx(begins)
    assert (only.kind, only.lasts) == (Kind.PROVIDER_OUTAGE, outage)
    assert list(made.again()) == []
    assert only.after + only.lasts < made.span


def test_the_outage_slows_no_other_drill() -> None:
    others = [drill for name, drill in DRILLS.items() if name != "provider-outage"]
    assert {drill.rate(100, 600.0) for drill in others} == {RATE}


def test_a_second_provider_is_there_where_providers_fail_and_nowhere_else() -> None:
    assert {name for name in DRILLS if DRILLS[name].spare} == {"gateway-outage", "provider-outage"}


def test_only_what_restarts_servers_needs_its_own() -> None:
    needing = {name for name in DRILLS if plan(name).restarts_servers}
    assert needing == {"broker-restart", "redis-restart", "mixed"}


def test_the_traffic_uses_all_queues_and_has_the_asked_for_fates() -> None:
    items = traffic(plan())
    assert [item.id for item in items[:2]] == ["drill-r:0", "drill-r:1"]
    assert set(Counter(item.queue for item in items).values()) == {1000}
    fates = Counter(item.fate for item in items)
    assert fates["refused"] == pytest.approx(300, rel=0.25)
    assert fates["fails first"] == pytest.approx(180, rel=0.25)
    assert len({item.address for item in items}) == 6000
    assert items == traffic(plan())


def test_each_item_is_a_valid_notification() -> None:
    for item in traffic(plan(count=12)):
        made = item.notification("http://127.0.0.1:1")
        assert (made.id, made.channel, made.priority) == (item.id, item.channel, item.priority)
        assert made.recipient.endswith(item.address)


def test_answers_take_a_while_and_not_too_long() -> None:
    some = list(islice(delays(1), 1000))
    assert 0 < min(some) < max(some) <= LONGEST_DELAY
    assert min(c.send.deadline for c in load_settings("config").channels.values()) > LONGEST_DELAY
