"""How full each queue is, and how old its oldest message can be."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from notify import provision, topology
from notify.config import Settings
from notify.ledger import Health
from notify.management import Management, QueueStatus

# Above this share of Redis's memory limit somebody should look.
_FULL: Final = 0.7


class Progress(Protocol):
    """What of the ledger is used."""

    def progress(self, queues: Sequence[str]) -> dict[str, int]: ...

    def now(self) -> datetime: ...


def queue_states(settings: Settings, api: Management, ledger: Progress) -> list[dict[str, Any]]:
    """One entry for each queue of the topology, in its order.

    RabbitMQ cannot say when the head of a quorum queue was published. Messages leave in the
    order they came, so the head is no older than the message that left last: that age is
    given as ``oldest_at_most`` in seconds, None where it is not known. ``held_back`` counts
    messages that are neither ready nor with a consumer: their dead lettering fails.
    Raises ``ManagementUnavailable`` and ``LedgerUnavailable``.
    """
    known = api.queues()
    names = [queue.name for queue in provision.wanted(settings).queues]
    progress, now = ledger.progress(names), ledger.now()
    waits = {topology.rung(p, s): s for p in ("urgent", "normal") for s in settings.broker.rungs}
    return [_state(name, known.get(name), waits.get(name), progress, now) for name in names]


def _state(
    name: str,
    status: QueueStatus | None,
    wait: int | None,
    progress: dict[str, int],
    now: datetime,
) -> dict[str, Any]:
    age = None
    if status is not None and status.ready and wait is not None:
        age = float(wait)
    elif status is not None and status.ready and name in progress:
        age = max(0.0, now.timestamp() - progress[name])
    return {
        "name": name,
        "exists": status is not None,
        "ready": status.ready if status else 0,
        "unacknowledged": status.unacknowledged if status else 0,
        "held_back": status.held_back if status else 0,
        "consumers": status.consumers if status else 0,
        "oldest_at_most": age,
    }


def ledger_alarms(health: Health) -> list[str]:
    """What is wrong with the ledger, one line each."""
    alarms = []
    if health.fill > _FULL:
        alarms.append(f"Redis: {health.fill:.0%} of its memory is used; full, nothing is sent")
    if health.at_risk:
        alarms.append(
            f"Redis: keys were lost before {health.intact_since:%Y-%m-%d %H:%M:%S} UTC; "
            f"at most {health.at_risk} later deliveries were repeats"
        )
    return alarms
