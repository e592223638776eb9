"""Why the broker dead-lettered a message, as far as its headers tell.

``x-death`` lists queues, the latest first. A message that waited for a retry has died in
delay queues by design: only the death in a work queue counts. From RabbitMQ 4.0 there is
``x-last-death-*`` besides ``x-first-death-*``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notify.deadletter.value import as_utc, one_line
from notify.outcomes import Reason

_OURS: Final = "notify."
_DELAY: Final = "notify.delay."
_DEAD: Final = "notify.dead"
_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CLOCK_SKEW: Final = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Death:
    """One entry: in which queue, why and, to the second, when."""

    queue: str
    reason: str
    at: datetime | None = None


def work_death(headers: Mapping[str, Any]) -> Death | None:
    """The latest death in a work queue."""
    return next((death for death in _deaths(headers) if _is_work(death.queue)), None)


def _deaths(headers: Mapping[str, Any]) -> Iterator[Death]:
    entries = headers.get("x-death")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            yield from _death(entry.get("queue"), entry.get("reason"), entry.get("time"))
    for which in ("last", "first"):
        queue, reason = (headers.get(f"x-{which}-death-{what}") for what in ("queue", "reason"))
        yield from _death(queue, reason, None)


def _death(queue: Any, reason: Any, at: Any) -> Iterator[Death]:
    if isinstance(queue, str) and isinstance(reason, str):
        time = as_utc(at) if isinstance(at, datetime) and at.tzinfo else None
        yield Death(queue=one_line(queue), reason=one_line(reason), at=time)


def _is_work(queue: str) -> bool:
    return queue.startswith(_OURS) and not queue.startswith(_DELAY) and queue != _DEAD


def died_at(death: Death | None, now: datetime) -> datetime:
    """When it died, unless the broker's clock is out of its mind."""
    if death and death.at and _EARLIEST < death.at < now + _CLOCK_SKEW:
        return death.at
    return as_utc(now)


def cause(death: Death | None, problem: str, routing_key: str) -> tuple[Reason, str]:
    """Reason and detail; ``problem`` is what is wrong with the notification, if anything."""
    if death is None:
        return Reason.UNROUTABLE, _join(f"no queue for routing key {routing_key}", problem)
    if death.reason == "rejected" and problem:
        return Reason.INVALID, problem
    default = (Reason.INTERNAL_ERROR, f"dead-lettered as {death.reason} from")
    reason, text = _CAUSES.get(death.reason, default)
    return reason, _join(f"{text} {death.queue}", problem)


_CAUSES: Final = {
    "rejected": (Reason.INTERNAL_ERROR, "rejected by a worker of"),
    "delivery_limit": (Reason.DELIVERY_LIMIT, "handed back too many times by workers of"),
    "expired": (Reason.EXPIRED, "waited too long in"),
    "maxlen": (Reason.INTERNAL_ERROR, "pushed out by a length limit of"),
}


def _join(*parts: str) -> str:
    return one_line("; ".join(filter(None, parts)))
