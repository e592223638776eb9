"""The notifications of a drill, and what the gateways will say to each. Pure."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from notify.drill.plan import Plan
from notify.notification import CHANNELS, PRIORITIES, Notification
from notify.sandbox import Answer

Fate = Literal["accepted", "refused", "fails first"]

LONGEST_DELAY: Final = 0.4
_SHORTEST_DELAY: Final = 0.05

BUSY: Final = Answer(status=503, smtp_stage="rcpt", smtp_reply="451 4.3.0 try again later")
RESET: Final = Answer(reset="after")


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One notification; ``address`` is the recipient as the sandbox names it."""

    id: str
    number: int
    channel: str
    priority: str
    fate: Fate

    @property
    def queue(self) -> str:
        return f"{self.channel}-{self.priority}"

    @property
    def address(self) -> str:
        if self.channel == "sms":
            return f"+49170{self.number:08d}"
        if self.channel == "email":
            return f"person-{self.number}@example.com"
        return f"/hook/{self.number}"

    def notification(self, http_url: str) -> Notification:
        hook = self.channel == "webhook"
        return Notification(
            id=self.id,
            channel=self.channel,
            priority=self.priority,
            recipient=f"{http_url}{self.address}" if hook else self.address,
            subject=f"Drill {self.number}" if self.channel == "email" else None,
            body=f"This is notification {self.number} of a drill.",
        )


def traffic(plan: Plan) -> tuple[Item, ...]:
    """Every queue in turn, so that all are in use all the time."""
    queues = [(channel, priority) for priority in PRIORITIES for channel in CHANNELS]
    rng = random.Random(f"fates {plan.seed}")
    return tuple(
        Item(
            id=f"drill-{plan.run}:{number}",
            number=number,
            channel=queues[number % len(queues)][0],
            priority=queues[number % len(queues)][1],
            fate=_fate(plan, rng.random()),
        )
        for number in range(plan.count)
    )


def _fate(plan: Plan, draw: float) -> Fate:
    if draw < plan.drill.refused:
        return "refused"
    return "fails first" if draw < plan.drill.refused + plan.drill.failing else "accepted"


def delays(seed: int) -> Iterator[float]:
    """How long each answer of a gateway takes: so that there is always something in flight."""
    rng = random.Random(f"delays {seed}")
    while True:
        yield rng.uniform(_SHORTEST_DELAY, LONGEST_DELAY)


def refusal(item: Item, delay: float) -> Answer:
    """No attempt will ever be accepted."""
    if item.channel == "email":
        return Answer(delay=delay, smtp_stage="rcpt", smtp_reply="550 5.1.1 no such user")
    return Answer(delay=delay, status=410 if item.channel == "webhook" else 400)
