"""The account of a drill as JSON data and as text. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from notify.drill.account import Account, Evidence, recoveries
from notify.drill.plan import Fault, Plan

_NAMED: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A finished drill. ``begun`` is when publishing began (epoch seconds)."""

    plan: Plan
    broker: str
    account: Account
    evidence: Evidence
    begun: float
    seconds: float
    repeats: int
    settled: bool
    ended_by_themselves: Sequence[str]

    @property
    def problems(self) -> tuple[str, ...]:
        unsettled = () if self.settled else ("not all messages left the queues",)
        missing = self.plan.count - len(self.account.published)
        unpublished = (f"{missing} never confirmed",) if missing else ()
        return (*self.account.problems, *unsettled, *unpublished)

    @property
    def passed(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        plan, times = self.plan, recoveries(self.evidence)
        return {
            "drill": plan.name,
            "run": plan.run,
            "passed": self.passed,
            "problems": list(self.problems),
            "account": account_dict(self.account),
            "recovery": recovery_dict(self.evidence.faults, times),
            "faults": [
                self._fault(*pair) for pair in zip(self.evidence.faults, times, strict=True)
            ],
            "publishes repeated": self.repeats,
            "ended by themselves": list(self.ended_by_themselves),
            "wrong ids": wrong_ids(self.account),
            "count": plan.count,
            "every": plan.every,
            "rate": plan.rate,
            "outage": plan.outage,
            "seed": plan.seed,
            "rabbitmq": self.broker,
            "seconds": round(self.seconds, 1),
        }

    def _fault(self, fault: Fault, recovered: float | None) -> dict[str, Any]:
        return {
            "kind": fault.kind,
            "queue": fault.queue,
            "at": round(fault.at - self.begun, 2),
            "lasted": round(fault.until - fault.at, 2),
            "recovered after": None if recovered is None else round(recovered, 2),
        }


def account_dict(account: Account) -> dict[str, Any]:
    spare = {f"delivered by the spare, {name}": n for name, n in account.by_spare.items()}
    return {
        "published": len(account.published),
        "delivered once": len(account.once),
        "delivered more than once": account.repeated,
        **spare,
        "archived": dict(sorted(account.archived.items())),
        "unknown": account.unknown,
        "in flight at the faults": account.in_flight,
        "lost": len(account.lost),
    }


def wrong_ids(account: Account) -> dict[str, list[str]]:
    """What has to be looked into, by name: ``notify status ID`` and the logs tell the rest."""
    wrong = {
        "lost": account.lost,
        "wrongly repeated": account.wrongly_repeated,
        "wrongly archived": account.wrongly_archived,
        "needlessly archived": account.needlessly_archived,
    }
    return {name: sorted(ids)[:_NAMED] for name, ids in wrong.items() if ids}


def recovery_dict(
    faults: Sequence[Fault], recovered: Sequence[float | None]
) -> dict[str, dict[str, Any]]:
    """For each kind of fault, how many there were and how long it took to deliver again."""
    times: dict[str, list[float | None]] = {}
    for fault, seconds in zip(faults, recovered, strict=True):
        times.setdefault(fault.kind, []).append(seconds)
    return {kind: _summary(found) for kind, found in sorted(times.items())}


def _summary(times: Sequence[float | None]) -> dict[str, Any]:
    known = [time for time in times if time is not None]
    return {
        "faults": len(times),
        "median s": round(median(known), 1) if known else None,
        "longest s": round(max(known), 1) if known else None,
    }


def account_lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The account for people, one row for each line of it."""
    account = dict(facts["account"])
    rows: list[tuple[str, str]] = []
    for name, value in account.items():
        if name == "archived":
            rows += [(f"archived: {reason}", str(n)) for reason, n in value.items()]
        else:
            rows.append((name, str(value)))
    return rows


def recovery_lines(facts: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (kind, *("" if value is None else str(value) for value in summary.values()))
        for kind, summary in facts["recovery"].items()
    ]
