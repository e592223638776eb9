"""Limits with keys and a clock of their own."""

from dataclasses import dataclass, field
from typing import Any

import redis

from notify.config import LimitSettings
from notify.limits import Account, Denied, Granted, Limits, State

SMS = Account(channel="sms", provider="texts")
# In the middle of a bucket of every ring.
START = 1_800_000_000.5


class Clock:
    """Time that passes when it is told to; steps of 1/64 s are exact."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


def limited(**values: Any) -> LimitSettings:
    """Limits as a file spells them."""
    return LimitSettings.model_validate(values)


@dataclass
class Desk:
    """Asks for turns of one account, at a time that stands still."""

    limits: Limits
    clock: Clock
    raw: redis.Redis
    prefix: str
    settings: LimitSettings = field(default_factory=LimitSettings)

    def ask(self, cost: float = 1, *, urgent: bool = False, lease: float = 60) -> Granted | Denied:
        return self.limits.reserve(SMS, self.settings, cost=cost, urgent=urgent, lease=lease)

    def granted(self, cost: float = 1, *, urgent: bool = False, lease: float = 60) -> Granted:
        answer = self.ask(cost, urgent=urgent, lease=lease)
        assert isinstance(answer, Granted)
        return answer

    def denied(self, cost: float = 1, *, urgent: bool = False) -> Denied:
        answer = self.ask(cost, urgent=urgent)
        assert isinstance(answer, Denied)
        return answer

    def all_at_once(self, cost: float = 1, *, urgent: bool = False) -> list[Granted]:
        """What is granted now, until it is no more."""
        granted = []
        while isinstance(answer := self.ask(cost, urgent=urgent), Granted):
            granted.append(answer)
            assert len(granted) < 1000
        return granted

    def release(self, granted: Granted, *, unused: bool = False) -> None:
        self.limits.release(SMS, granted, self.settings, unused=unused)

    def slow_down(self, retry_after: float | None = None) -> None:
        self.limits.slow_down(SMS, self.settings, retry_after=retry_after)

    @property
    def state(self) -> State:
        return self.limits.states(SMS.channel, [SMS.provider])[SMS.provider]

    def dump(self) -> dict[str, object]:
        """All keys with their values."""
        read = {"hash": self.raw.hgetall, "zset": lambda key: self.raw.zrange(key, 0, -1)}
        keys = sorted(self.raw.scan_iter(f"{self.prefix}:*"))
        return {key: read[str(self.raw.type(key))](key) for key in keys}
