"""What a drill does, as values: which faults, how often, and when. Pure."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count, cycle
from typing import Final


class Kind(StrEnum):
    """What is broken on purpose."""

    WORKER_KILL = "worker-kill"
    ARCHIVER_KILL = "archiver-kill"
    BEAT_KILL = "beat-kill"
    BROKER_RESTART = "broker-restart"
    BROKER_KILL = "broker-kill"
    REDIS_KILL = "redis-kill"
    GATEWAY_BUSY = "gateway-busy"
    GATEWAY_RESET = "gateway-reset"
    GATEWAY_CLOSED = "gateway-closed"
    PROVIDER_OUTAGE = "provider-outage"
    DISK_FULL = "disk-full"


_SPREAD: Final = 0.2
# An outage in the middle of publishing takes so much of its time.
_MIDDLE: Final = 0.6

RATE: Final = 100.0
OUTAGE: Final = 30.0
LONGEST_OUTAGE: Final = 1200.0
NEEDS_PRIVATE_SERVERS: Final = {Kind.BROKER_RESTART, Kind.BROKER_KILL, Kind.REDIS_KILL}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A fault that was injected; times are epoch seconds.

    ``at`` is just before, ``struck`` when the damage was done, ``until`` when what was
    broken was in order again. A process that was killed is not: something else starts it.
    ``queue`` is the one that is concerned (``sms-urgent``); empty for all.
    """

    kind: Kind
    queue: str = ""
    at: float
    struck: float
    until: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A fault to come: seconds after the first publish, how long it lasts, and a draw that
    picks its victim (from 0 up to 1)."""

    kind: Kind
    after: float
    lasts: float = 0.0
    draw: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Drill:
    """One kind of drill.

    ``again`` are injected in turn, one each ``every`` seconds, for ``lasts`` of that time
    where they last; ``once`` are injected at these shares of the time of publishing.
    ``refused`` and ``failing`` are the shares of recipients that the gateways refuse for
    good, and at the first attempt. With ``spare``, texts and mails have a second provider,
    which nothing disturbs. With ``scheduled``, each is a schedule that two beats fire.
    """

    again: tuple[Kind, ...] = ()
    every: float = 1.0
    lasts: float = 0.4
    once: Mapping[float, Kind] = field(default_factory=dict)
    refused: float = 0.05
    failing: float = 0.0
    spare: bool = False
    scheduled: bool = False

    @property
    def kinds(self) -> set[Kind]:
        return {*self.again, *self.once.values()}

    def rate(self, count: int, outage: float) -> float:
        """Notifications a second when nothing else is asked for.

        An outage of a stated length stands in the middle of publishing.
        """
        if Kind.PROVIDER_OUTAGE not in self.kinds:
            return RATE
        return min(RATE, count * _MIDDLE / outage)


# The orderly restart comes before the SIGKILL: RabbitMQ 3.10 may forget a queue that was
# declared a second or two before a SIGKILL, and after an orderly restart the disk has it.
DRILLS: Final[Mapping[str, Drill]] = {
    "worker-kill": Drill(again=(Kind.WORKER_KILL,), every=2.0),
    "broker-restart": Drill(again=(Kind.BROKER_RESTART, Kind.BROKER_KILL), every=25.0),
    "redis-restart": Drill(again=(Kind.REDIS_KILL,), every=8.0),
    "archiver-kill": Drill(again=(Kind.ARCHIVER_KILL,), every=1.0),
    # Longer than a lock lives that is left behind.
    "beat-kill": Drill(again=(Kind.BEAT_KILL,), every=15.0, scheduled=True),
    "gateway-outage": Drill(
        again=(Kind.GATEWAY_BUSY, Kind.GATEWAY_RESET, Kind.GATEWAY_CLOSED), every=10.0, spare=True
    ),
    "provider-outage": Drill(once={(1 - _MIDDLE) / 2: Kind.PROVIDER_OUTAGE}, spare=True),
    "full-disk": Drill(again=(Kind.DISK_FULL,), every=15.0),
    "mixed": Drill(
        again=(Kind.WORKER_KILL, Kind.WORKER_KILL, Kind.WORKER_KILL, Kind.ARCHIVER_KILL),
        every=3.0,
        once={0.15: Kind.BROKER_RESTART, 0.45: Kind.REDIS_KILL, 0.65: Kind.BROKER_KILL},
        failing=0.03,
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """One drill as it was asked for; the seed fixes its faults and who is refused.

    ``outage`` is how long the first provider is away, where the drill has such an outage.
    """

    name: str
    count: int
    every: float
    rate: float
    seed: int
    run: str
    outage: float = OUTAGE

    @property
    def drill(self) -> Drill:
        return DRILLS[self.name]

    @property
    def restarts_servers(self) -> bool:
        return bool(self.drill.kinds & NEEDS_PRIVATE_SERVERS)

    @property
    def span(self) -> float:
        """How long publishing takes when nothing holds it up."""
        return self.count / self.rate

    def again(self) -> Iterator[Planned]:
        """The faults that go on until the drill has had enough of them."""
        rng = random.Random(f"faults {self.seed}")
        if not self.drill.again:
            return
        lasts = self.every * self.drill.lasts
        for number, kind in zip(count(1), cycle(self.drill.again), strict=False):
            # Not in step with publishing, which has a rhythm of its own.
            after = (number + rng.uniform(-_SPREAD, _SPREAD)) * self.every
            yield Planned(kind=kind, after=after, lasts=lasts, draw=rng.random())

    def once(self) -> Iterator[Planned]:
        """The faults that all have to happen, in this order."""
        for share, kind in sorted(self.drill.once.items()):
            lasts = self.outage if kind is Kind.PROVIDER_OUTAGE else 0.0
            yield Planned(kind=kind, after=share * self.span, lasts=lasts)
