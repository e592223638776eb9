"""The topology as data: exactly what is designed, and what must hold for every configuration."""

import re
from itertools import permutations

import pytest

from notify import topology
from notify.app import make_app
from notify.config import Settings
from notify.notification import CHANNELS, PRIORITIES
from notify.topology import Binding, Exchange, Queue

PAIRS = [("sms", "urgent"), ("sms", "normal")]
ALL_PAIRS = [(channel, priority) for channel in CHANNELS for priority in PRIORITIES]
WORK = {
    "x-queue-type": "quorum",
    "x-dead-letter-exchange": "notify.dead",
    "x-dead-letter-strategy": "at-least-once",
    "x-overflow": "reject-publish",
}
DELAY = WORK | {"x-dead-letter-exchange": "notify.return"}


def test_the_topology_is_exactly_as_designed() -> None:
    plan = topology.build(PAIRS, [5, 3600], 10)
    ladder = [("urgent", 5), ("urgent", 3600), ("normal", 5), ("normal", 3600)]
    rungs = [f"notify.delay.{priority}.{seconds}s" for priority, seconds in ladder]
    assert plan.exchanges == (
        Exchange(name="notify.dead", type="topic"),
        Exchange(name="notify", type="topic"),
        Exchange(
            name="notify.return", type="topic", arguments={"alternate-exchange": "notify.dead"}
        ),
        *(Exchange(name=name, type="fanout") for name in rungs),
    )
    assert plan.queues == (
        Queue(name="notify.dead", arguments={"x-queue-type": "quorum"}),
        Queue(name="notify.sms.urgent", arguments=WORK),
        Queue(name="notify.sms.normal", arguments=WORK),
        *(
            Queue(name=name, arguments=DELAY | {"x-message-ttl": seconds * 1000})
            for name, (_, seconds) in zip(rungs, ladder, strict=True)
        ),
    )
    assert set(plan.bindings) == {
        Binding(exchange="notify.dead", queue="notify.dead", routing_key="#"),
        *(
            Binding(exchange=exchange, queue=f"notify.sms.{p}", routing_key=f"sms.{p}")
            for exchange in ("notify", "notify.return")
            for p in ("urgent", "normal")
        ),
        *(Binding(exchange=name, queue=name, routing_key="") for name in rungs),
    }


def test_every_queue_is_quorum_and_every_exchange_topic_or_fanout() -> None:
    plan = topology.build(ALL_PAIRS, Settings().broker.rungs, 10)
    assert len(plan.queues) == 1 + 6 + 2 * 11
    assert {queue.arguments["x-queue-type"] for queue in plan.queues} == {"quorum"}
    assert {exchange.type for exchange in plan.exchanges} == {"topic", "fanout"}
    names = [exchange.name for exchange in plan.exchanges]
    assert len(set(names)) == len(names)


def test_whatever_is_bound_is_declared_first() -> None:
    plan = topology.build(ALL_PAIRS, [5], 10)
    exchanges = {exchange.name for exchange in plan.exchanges}
    queues = {queue.name for queue in plan.queues}
    assert {binding.exchange for binding in plan.bindings} == exchanges
    assert {binding.queue for binding in plan.bindings} == queues
    targets = {q.arguments.get("x-dead-letter-exchange") for q in plan.queues} - {None}
    assert targets <= exchanges


def test_no_routing_key_ends_in_another() -> None:
    """Celery binds ``#.<key>`` where its delays are on: such a queue would get both."""
    keys = {".".join(pair) for pair in ALL_PAIRS}
    assert len(keys) == 6
    assert not [(a, b) for a, b in permutations(keys, 2) if a.endswith(f".{b}")]


def test_celery_declares_the_same_queues() -> None:
    plan = topology.build(ALL_PAIRS, [5], 10)
    channels = {
        name: {
            "providers": [
                {"type": "webhook", "name": "hooks"},
            ]
        }
        for name in CHANNELS
    }
    app = make_app(Settings.model_validate({"channels": channels}))
    known = {queue.name: queue for queue in app.conf.task_queues}
    work = {q.name: q for q in plan.queues if re.fullmatch(r"notify\.\w+\.(urgent|normal)", q.name)}
    assert known.keys() == work.keys()
    for name, queue in known.items():
        assert queue.queue_arguments == work[name].arguments
        assert queue.durable
        assert not (queue.auto_delete or queue.exclusive)
        bound = {(b.exchange.name, name, b.routing_key) for b in queue.bindings}
        assert bound == {
            (b.exchange, b.queue, b.routing_key) for b in plan.bindings if b.queue == name
        }
        for exchange in (b.exchange for b in queue.bindings):
            declared = next(e for e in plan.exchanges if e.name == exchange.name)
            assert (exchange.type, exchange.arguments) == (declared.type, declared.arguments)


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ((3, 10, 8), ["notify-work"]),
        ((3, 13), ["notify-work"]),
        ((4, 0), ["notify-work", "notify-dead"]),
        ((4, 3, 6), ["notify-work", "notify-dead"]),
    ],
)
def test_policies_by_version(version: tuple[int, ...], names: list[str]) -> None:
    """The queue of the dead never drops; before 4.0 there is no limit, and -1 is unknown."""
    plan = topology.build(ALL_PAIRS, [5], 7)
    policies = {policy.name: policy for policy in plan.policies(version)}
    assert list(policies) == names
    assert policies["notify-work"].definition["delivery-limit"] == 7
    if "notify-dead" in policies:
        assert policies["notify-dead"].definition == {"delivery-limit": -1}


def test_each_policy_covers_its_queues_only() -> None:
    work, dead = topology.build(ALL_PAIRS, [5], 10).policies((4, 0))
    queues = [queue.name for queue in topology.build(ALL_PAIRS, [5], 10).queues]
    assert {q for q in queues if work.covers(q)} == {topology.work_queue(*p) for p in ALL_PAIRS}
    assert {q for q in queues if dead.covers(q)} == {"notify.dead"}
    assert not work.covers("other.notify.sms.urgent")
    assert not work.covers("notify.sms.urgent.old")
