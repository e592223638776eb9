"""The account: what was published, against what the sandbox and the archive have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from notify.ledger import Ledger
from notify.notification import Notification
from notify.sandbox import Received
from notify.store import Filter, Store


@dataclass(frozen=True, kw_only=True)
class Account:
    """Sets of ids, so that what is missing has a name."""

    published: frozenset[str]
    delivered: frozenset[str]
    archived: frozenset[str]
    repeated: tuple[str, ...]

    @property
    def adds_up(self) -> bool:
        return (
            self.published == self.delivered | self.archived
            and not self.delivered & self.archived
            and not self.repeated
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "published": len(self.published),
            "delivered": len(self.delivered),
            "archived": len(self.archived),
            "delivered more than once": len(self.repeated),
            "lost": len(self.published - self.delivered - self.archived),
            "adds up": self.adds_up,
        }


def take_account(published: Sequence[str], received: Sequence[Received], store: Store) -> Account:
    """Counts at the sandbox and in the archive; nothing of our own counters."""
    accepted = [item.id for item in received if item.accepted]
    open_letters = store.find(Filter(state="open", limit=10000))
    return Account(
        published=frozenset(published),
        delivered=frozenset(accepted),
        archived=frozenset(row.letter.id for row in open_letters if row.letter.id),
        repeated=tuple(sorted({id for id in accepted if accepted.count(id) > 1})),
    )


def latencies(
    published: Mapping[str, Notification], received: Sequence[Received], ledger: Ledger
) -> list[dict[str, Any]]:
    """For each provider and priority: how long from publish to the gateway, in ms.

    First attempts only: a retry is late on purpose.
    """
    groups: dict[tuple[str, str, str], list[float]] = {}
    for item in received:
        source = published.get(item.id)
        if source is not None and item.accepted and item.attempt_no == 1:
            took = (item.at - source.created_at.timestamp()) * 1000
            record = ledger.record(item.id)
            provider = record.provider if record else ""
            groups.setdefault((item.channel, provider, source.priority), []).append(took)
    return [
        {
            "channel": channel,
            "provider": provider,
            "priority": priority,
            "delivered": len(times),
            "median ms": round(median(times)),
            "slowest ms": round(max(times)),
        }
        for (channel, provider, priority), times in sorted(groups.items())
    ]
