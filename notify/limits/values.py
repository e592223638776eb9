"""What the limits are asked about, and what they answer."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, cast

Mode = Literal["enabled", "draining", "disabled"]
Breaker = Literal["closed", "open", "half_open"]
Why = Literal["rate", "concurrency", "daily", "slowed", "barred"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """One provider of one channel: what a gateway counts and limits."""

    channel: str
    provider: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Granted:
    """Ours to send, ``wait`` seconds from now and not before.

    The rest is what ``release`` needs to give it back: the token in flight, the cost, the
    day that it counts for, and the account's clock before and after.
    """

    wait: float
    token: str
    urgent: bool
    cost: float
    day: str
    before: str
    after: str

    @property
    def at(self) -> float:
        """The slot's time by the Redis server's clock, in epoch seconds; 0 without a rate."""
        return float(self.before or 0) / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Denied:
    """Not now: ask again in ``wait`` seconds. Nothing was taken."""

    wait: float
    why: Why


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """What one process has seen of an account since its last report.

    ``ok`` and ``failed`` count the sends that began in the breaker's present ``State.turn``,
    the probe among them; ``late_ok`` and ``late_failed`` those that began before, which are
    shown but say nothing about how the provider is now. ``seconds`` is the sum of the
    latencies of all of them. ``probed`` says how a probe ended, where there was one.
    """

    ok: int = 0
    failed: int = 0
    seconds: float = 0.0
    late_ok: int = 0
    late_failed: int = 0
    probed: Literal["ok", "failed"] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """An account as all processes see it.

    ``mode`` is the operator's choice, made ``by`` somebody, ``until`` it ends by itself.
    ``opened_at`` is when the breaker left "closed", ``open_for`` how long (s) it is open
    before the next probe, ``retry_in`` how much of that is left, ``probing`` whether a probe
    is on its way, ``turn`` a number that changes with each change of the breaker.

    ``ok``, ``failed`` and ``latency_ms`` (mean) are of the breaker's window; ``rate`` is
    sends per second over the last ten full seconds, or since the first of them with a send.
    ``factor`` (0.05 to 1) and ``held`` (s) are what is left of a slow-down; ``daily_used``
    is in units of cost, ``in_flight`` counts tokens.
    """

    mode: Mode = "enabled"
    by: str = ""
    until: datetime | None = None
    breaker: Breaker = "closed"
    opened_at: datetime | None = None
    open_for: float = 0.0
    retry_in: float = 0.0
    probing: bool = False
    turn: int = 0
    ok: int = 0
    failed: int = 0
    latency_ms: float = 0.0
    rate: float = 0.0
    factor: float = 1.0
    held: float = 0.0
    daily_used: float = 0.0
    in_flight: int = 0

    @property
    def slowed(self) -> bool:
        """True while even an account without configured limits must be asked for its turn."""
        return self.factor < 1 or self.held > 0


def read_state(answer: list[str]) -> State:
    """A state from a script's answer: texts, with times in microseconds."""
    mode, by, breaker = answer[:3]
    until, opened, lasts, left, probing, turn, ok, failed, busy, *rest = map(float, answer[3:])
    rate, factor, held, used, in_flight = rest
    return State(
        mode=cast("Mode", mode),
        by=by,
        until=_instant(until),
        breaker=cast("Breaker", breaker),
        opened_at=_instant(opened),
        open_for=lasts / 1e6,
        retry_in=left / 1e6,
        probing=bool(probing),
        turn=int(turn),
        ok=int(ok),
        failed=int(failed),
        latency_ms=busy / 1000 / (ok + failed) if ok + failed else 0.0,
        rate=rate,
        factor=factor,
        held=held / 1e6,
        daily_used=used,
        in_flight=int(in_flight),
    )


def _instant(micros: float) -> datetime | None:
    return datetime.fromtimestamp(micros / 1e6, UTC) if micros else None
