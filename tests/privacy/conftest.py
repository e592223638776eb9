"""An archive with one person in all its places, and Redis's part as values."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from notify.ledger import Record
from notify.store import Store
from notify.store.people import People
from notify.suppressions import Suppression

NUMBER = "+4915112345678"


@pytest.fixture
def store(archive_url: str) -> Iterator[Store]:
    with closing(Store(archive_url)) as opened:
        opened.create()
        yield opened


@pytest.fixture
def people(archive_url: str, store: Store) -> Iterator[People]:
    with closing(People(archive_url)) as opened:
        yield opened


@dataclass
class Books:
    """A ledger that knows some ids."""

    known: set[str] = field(default_factory=set)
    erased: list[str] = field(default_factory=list)

    def record(self, id: str) -> Record | None:
        if id not in self.known:
            return None
        now = datetime.now(UTC)
        return Record(id=id, state="dead", generation=1, attempt=1, digest="d", changed_at=now)

    def erase(self, id: str) -> bool:
        self.erased.append(id)
        return id in self.known


@dataclass
class Blocked:
    """Suppressions with one entry."""

    entry: Suppression | None = None

    def get(self, channel: str, recipient: str) -> Suppression | None:
        return self.entry

    def erase(self, channel: str, recipient: str) -> bool:
        return self.entry is not None


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def blocked() -> Blocked:
    return Blocked()
