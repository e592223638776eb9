"""Reads all rows before the first is published: what they are, and which are wrong."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b

from notify.batch.estimate import Load
from notify.batch.source import Source
from notify.notification import Notification
from notify.rows import Row
from notify.segments import count


@dataclass(kw_only=True, slots=True)
class Account:
    """What a source has. ``repeated`` rows name a recipient that an earlier one names on the
    same channel; ``same_id`` rows have an id that an earlier one has."""

    rows: int = 0
    rejected: int = 0
    repeated: int = 0
    same_id: int = 0
    loads: dict[str, Load] = field(default_factory=dict)
    first: Row | None = None
    last: int = 0


def check(
    source: Source,
    *,
    batch: str,
    rejected: Callable[[Row], None] = lambda _: None,
    watch: Callable[[Account], None] = lambda _: None,
) -> Account:
    """Rows without an id of their own have that of ``batch``.

    ``rejected`` is told of each row that is wrong. Memory is bounded: what must be compared
    with all others is on disk.
    """
    account = Account()
    with closing(Seen()) as seen:
        for row in source.rows():
            account.rows += 1
            account.last = row.number
            if row.notification is None:
                account.rejected += 1
                account.first = account.first or row
                rejected(row)
            else:
                _add(account, row.notification, seen, batch)
            watch(account)
    return account


def _add(account: Account, notification: Notification, seen: "Seen", batch: str) -> None:
    channel = notification.channel
    load = account.loads.setdefault(channel, Load())
    load.messages += 1
    load.bytes += notification.size if channel != "sms" else len(notification.body or "")
    load.segments += count(notification.body or "").segments if channel == "sms" else 0
    account.repeated += seen.before(f"{channel} {notification.recipient}")
    if not notification.id.startswith(f"{batch}:"):
        account.same_id += seen.before(f"id {notification.id}")


class Seen:
    """Which texts came before, as 64 bits of each in a temporary database."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("CREATE TABLE seen (hash INTEGER PRIMARY KEY)")
        self._database.execute("BEGIN")

    def before(self, text: str) -> bool:
        hashed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)
        found = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (hashed,))
        return found.rowcount == 0

    def close(self) -> None:
        self._database.close()
