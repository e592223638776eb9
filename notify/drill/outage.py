"""The drill outage-replay as values: what dies of what, and what has to come of it. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median, quantiles
from typing import Any, Final

from notify.notification import Notification
from notify.outcomes import Reason

NAME: Final = "outage-replay"
LETTERS: Final = 50_000
REPLAY_RATE: Final = 200.0
# Of each ten: six meet a provider that is down, two a refusal, one is late, and of one nobody
# knows what the provider did with it.
_FATES: Final = (
    *(Reason.RETRIES_EXHAUSTED,) * 6,
    *(Reason.REFUSED,) * 2,
    *(Reason.EXPIRED, Reason.UNKNOWN_OUTCOME),
)
MEANT: Final = Reason.RETRIES_EXHAUSTED
_NAMED: Final = 20
# What is live keeps its latency: within so many seconds, or so many times what it was.
_SECONDS: Final = 2.0
_TIMES: Final = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class OutagePlan:
    """``count`` letters, those that are meant replayed ``rate`` a second; ``run`` names them."""

    count: int
    rate: float
    run: str
    archive: str = ""

    def id(self, number: int) -> str:
        return f"outage-{self.run}:{number}"

    def address(self, number: int) -> str:
        return f"+49160{number:08d}"

    def numbers(self, fate: Reason) -> Iterator[int]:
        return (n for n in range(self.count) if _FATES[n % len(_FATES)] is fate)

    def notification(self, number: int) -> Notification:
        late = _FATES[number % len(_FATES)] is Reason.EXPIRED
        return Notification(
            id=self.id(number),
            channel="sms",
            recipient=self.address(number),
            body=f"This is notification {number} of a drill.",
            expires_at=datetime.now(UTC) + timedelta(seconds=5) if late else None,
        )

    @property
    def calm(self) -> float:
        """For so many seconds urgent notifications flow before anything is replayed."""
        return min(15.0, max(2.0, self.count / 1000))

    @property
    def expected(self) -> dict[str, int]:
        """Letters by reason."""
        full, rest = divmod(self.count, len(_FATES))
        counts = Counter({str(fate): number * full for fate, number in Counter(_FATES).items()})
        counts.update(str(fate) for fate in _FATES[:rest])
        return {reason: number for reason, number in counts.items() if number}


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """Seconds from the publish of urgent notifications to their arrival at the gateway."""

    count: int
    median: float
    p95: float
    longest: float

    def to_dict(self) -> dict[str, float]:
        times = {"median s": self.median, "p95 s": self.p95, "longest s": self.longest}
        return {"notifications": self.count, **{k: round(v, 3) for k, v in times.items()}}


def latency(seconds: Sequence[float]) -> Latency:
    """Of at least two."""
    return Latency(
        count=len(seconds),
        median=median(seconds),
        p95=quantiles(seconds, n=20, method="inclusive")[-1],
        longest=max(seconds),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """All that the verdict is made of. ``accepted`` is how often the gateway took each id since
    the outage was over; ``urgent`` are the ids of live traffic."""

    plan: OutagePlan
    archived: Mapping[str, int]
    found: int
    accepted: Mapping[str, int]
    urgent: Sequence[str]
    states: Mapping[str, int]
    replayed: int
    before: Latency
    during: Latency
    killed_at: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def meant(self) -> set[str]:
        return {self.plan.id(number) for number in self.plan.numbers(MEANT)}

    @property
    def wrong_ids(self) -> dict[str, list[str]]:
        meant, live = self.meant, set(self.urgent)
        wanted = meant | live
        wrong = {
            "missing": wanted - self.accepted.keys(),
            "more than once": {id for id, times in self.accepted.items() if times > 1},
            "not meant": self.accepted.keys() - wanted,
        }
        return {name: sorted(ids) for name, ids in wrong.items() if ids}

    @property
    def problems(self) -> list[str]:
        """Why the drill fails, one line each."""
        plan, number = self.plan, self.plan.expected.get(str(MEANT), 0)
        found = [f"{len(ids)} {name}" for name, ids in self.wrong_ids.items()]
        if dict(self.archived) != plan.expected:
            found.append(f"archived {dict(self.archived)}, not {plan.expected}")
        if self.found != number:
            found.append(f"the dry run found {self.found}, not {number}")
        if self.replayed != number:
            found.append(f"{self.replayed} were sent again, not {number}")
        if self.states != {"replayed": number, "open": plan.count - number}:
            found.append(f"the archive says {dict(self.states)}")
        if not 0 < self.killed_at < number:
            found.append("the replay was not killed in the middle")
        if self.during.p95 > max(_SECONDS, _TIMES * self.before.p95):
            found.append(f"urgent notifications took {self.during.p95:.1f} s (95 %)")
        return found

    def to_dict(self) -> dict[str, Any]:
        meant = self.meant
        return {
            "drill": NAME,
            "run": self.plan.run,
            "passed": not self.problems,
            "problems": self.problems,
            "archived": dict(self.archived),
            "found by the operator": self.found,
            "killed after": self.killed_at,
            "sent again": self.replayed,
            "delivered once": sum(1 for id in meant if self.accepted.get(id) == 1),
            "delivered more than once": sum(1 for n in self.accepted.values() if n > 1),
            "states": dict(self.states),
            "urgent before": self.before.to_dict(),
            "urgent during": self.during.to_dict(),
            "wrong ids": {name: ids[:_NAMED] for name, ids in self.wrong_ids.items()},
            "count": self.plan.count,
            "rate": self.plan.rate,
            **self.facts,
        }
