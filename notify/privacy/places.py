"""Where something about a person can be, beside the archive: Redis, RabbitMQ, and elsewhere."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from notify import provision
from notify.config import Settings
from notify.errors import ManagementUnavailable
from notify.ledger import Record
from notify.privacy.person import Person
from notify.suppressions import Suppression

UNREACHABLE: Final[Mapping[str, str]] = {
    "backups": "copies of the archive and of Redis: restoring one brings the person back, so"
    " erase again after it",
    "logs": "recipients are masked in them; what other programs log of theirs is not known here",
    "providers": "gateways and mail servers keep records of their own: ask them",
    "attachments": "files in mails to others are not looked into",
}


class Books(Protocol):
    """What of ``notify.ledger.Ledger`` is used."""

    def record(self, id: str) -> Record | None: ...

    def erase(self, id: str) -> bool: ...


class Blocked(Protocol):
    """What of ``notify.suppressions.Suppressions`` is used."""

    def get(self, channel: str, recipient: str) -> Suppression | None: ...

    def erase(self, channel: str, recipient: str) -> bool: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """What of a person is in Redis, and what may be in queues.

    ``records`` are of notifications that the archive knows; ``queues`` hold messages for
    anybody, which nobody can look into; None where RabbitMQ does not say.
    """

    records: Sequence[Record] = ()
    suppression: Suppression | None = None
    queues: Mapping[str, int] | None = field(default_factory=dict)


def look(
    settings: Settings, person: Person, ids: Sequence[str], ledger: Books, blocked: Blocked
) -> Elsewhere:
    """Raises ``LedgerUnavailable``."""
    records = (ledger.record(id) for id in dict.fromkeys(ids))
    return Elsewhere(
        records=[record for record in records if record is not None],
        suppression=blocked.get(person.channel, person.recipient),
        queues=_queues(settings, person.channel),
    )


def _queues(settings: Settings, channel: str) -> dict[str, int] | None:
    """Messages that wait and may be for this person; delay queues and the dead are everybody's."""
    try:
        with closing(provision.management(settings)) as api:
            found = api.queues()
    except ManagementUnavailable:
        return None
    others = {f"notify.{name}." for name in settings.channels if name != channel}
    counts = {
        name: status.ready + status.unacknowledged + status.held_back
        for name, status in found.items()
        if not name.startswith(tuple(others))
    }
    return {name: number for name, number in sorted(counts.items()) if number}


def suppression_facts(found: Suppression | None) -> dict[str, Any] | None:
    """For programs, without who it is."""
    if found is None:
        return None
    return {"reason": found.reason, "source": found.source, "since": found.since.isoformat()}
