"""Exchanges, queues, bindings and policies as data. No I/O.

What makes loss impossible (queue type, dead lettering, overflow) is a queue argument and
right by construction; what operators tune is a policy.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from notify.notification import PRIORITIES

EXCHANGE: Final = "notify"
RETURN_EXCHANGE: Final = "notify.return"
DEAD: Final = "notify.dead"


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    name: str
    type: str = "topic"
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
    exchange: str
    queue: str
    routing_key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """A RabbitMQ policy for the queues whose names match ``pattern``."""

    name: str
    pattern: str
    definition: dict[str, Any]

    def covers(self, queue: str) -> bool:
        return re.search(self.pattern, queue) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Topology:
    """All that Notify needs in its virtual host, in the order in which to declare it."""

    exchanges: tuple[Exchange, ...]
    queues: tuple[Queue, ...]
    bindings: tuple[Binding, ...]
    delivery_limit: int

    def policies(self, version: tuple[int, ...]) -> tuple[Policy, ...]:
        """The policies for a broker of ``version``, for example (4, 0, 5).

        The queue of the dead must never drop: from 4.0 a quorum queue has a delivery
        limit of 20 unless it is set to -1, which earlier versions do not know. From 4.3 it
        keeps what it handed out through a node that dies for a minute, earlier ones for no
        time at all: here a claim in the ledger makes it safe to hand it out again soon.
        """
        soon = {"consumer-disconnected-timeout": 5000} if version >= (4, 3) else {}
        work = Policy(
            name="notify-work",
            pattern=r"^notify\.(sms|email|webhook)\.(urgent|normal)$",
            definition={"delivery-limit": self.delivery_limit} | soon,
        )
        dead = Policy(
            name="notify-dead", pattern=r"^notify\.dead$", definition={"delivery-limit": -1}
        )
        return (work, dead) if version >= (4, 0) else (work,)


def work_queue(channel: str, priority: str) -> str:
    """The name of the queue that carries a channel's notifications of one priority."""
    return f"notify.{channel}.{priority}"


def rung(priority: str, seconds: int) -> str:
    """The name of a delay queue, and of the fanout exchange that feeds it."""
    return f"notify.delay.{priority}.{seconds}s"


def build(
    pairs: Sequence[tuple[str, str]], rung_seconds: Sequence[int], delivery_limit: int
) -> Topology:
    """The topology for (channel, priority) pairs and a delay ladder."""
    rungs = [(p, seconds) for p in PRIORITIES for seconds in rung_seconds]
    return Topology(
        exchanges=(*_EXCHANGES, *(Exchange(name=rung(*r), type="fanout") for r in rungs)),
        queues=(
            _DEAD_QUEUE,
            *(_work_queue(*pair) for pair in pairs),
            *(_delay_queue(*r) for r in rungs),
        ),
        bindings=_bindings(pairs, rungs),
        delivery_limit=delivery_limit,
    )


_EXCHANGES: Final = (
    Exchange(name=DEAD),
    Exchange(name=EXCHANGE),
    # A returning message whose queue is gone is archived; without this it would be kept at
    # the head of its rung, and 32 of them would stop the rung for all.
    Exchange(name=RETURN_EXCHANGE, arguments={"alternate-exchange": DEAD}),
)
_DEAD_QUEUE: Final = Queue(name=DEAD, arguments={"x-queue-type": "quorum"})


def _lossless(dead_letter_exchange: str) -> dict[str, Any]:
    """At-least-once dead lettering takes effect only with all of these together."""
    return {
        "x-queue-type": "quorum",
        "x-dead-letter-exchange": dead_letter_exchange,
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }


def _work_queue(channel: str, priority: str) -> Queue:
    return Queue(name=work_queue(channel, priority), arguments=_lossless(DEAD))


def _delay_queue(priority: str, seconds: int) -> Queue:
    arguments = _lossless(RETURN_EXCHANGE) | {"x-message-ttl": seconds * 1000}
    return Queue(name=rung(priority, seconds), arguments=arguments)


def _bindings(
    pairs: Sequence[tuple[str, str]], rungs: Sequence[tuple[str, int]]
) -> tuple[Binding, ...]:
    work = [
        Binding(exchange=exchange, queue=work_queue(*pair), routing_key=".".join(pair))
        for exchange in (EXCHANGE, RETURN_EXCHANGE)
        for pair in pairs
    ]
    delay = [Binding(exchange=rung(*r), queue=rung(*r), routing_key="") for r in rungs]
    return (Binding(exchange=DEAD, queue=DEAD, routing_key="#"), *work, *delay)
