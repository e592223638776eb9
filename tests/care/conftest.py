"""A care book and a store on each kind of database, and a replay that only notes who asked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from notify.care.carer import Answer, Carer
from notify.care.readiness import Ready
from notify.config import CareRule, CareSettings
from notify.store import ArchivedLetter, Store
from notify.store.care import CareBook
from notify.store.replays import Replays

OWNER = "host:1"


@pytest.fixture
def store(archive_url: str) -> Iterator[Store]:
    with closing(Store(archive_url)) as opened:
        opened.create()
        yield opened


@pytest.fixture
def book(archive_url: str, store: Store) -> Iterator[CareBook]:
    with closing(CareBook(archive_url)) as opened:
        assert opened.lead(OWNER, 60)
        yield opened


@dataclass
class Resend:
    """Answers as it is told, and notes what it was asked for."""

    store: Store
    answers: dict[int, Answer] = field(default_factory=dict)
    recovered: dict[int, Answer] = field(default_factory=dict)
    asked: list[tuple[str, list[int]]] = field(default_factory=list)
    trouble: Callable[[], None] = lambda: None

    def recover(self) -> Mapping[int, Answer]:
        return self.recovered

    def __call__(self, rows: Sequence[ArchivedLetter], rule: CareRule) -> Mapping[int, Answer]:
        if rows:
            self.asked.append((rule.name, [row.seq for row in rows]))
        self.trouble()
        return {row.seq: self.answers.get(row.seq, Answer()) for row in rows}

    @property
    def seqs(self) -> list[int]:
        return [seq for _, seqs in self.asked for seq in seqs]


@dataclass
class Providers:
    """All are as ready as ``letters`` says."""

    letters: int = 1_000_000
    why: str = ""
    of_provider: dict[str, int] = field(default_factory=dict)

    def of(self, channel: str | None, provider: str | None) -> Ready:
        letters = self.of_provider.get(provider or "", self.letters)
        return Ready(letters=letters, why=self.why if letters else "its breaker is open")


@dataclass
class Desk:
    """A carer, and how it looks."""

    book: CareBook
    store: Store
    resend: Resend
    providers: Providers = field(default_factory=Providers)

    def settings(self, *rules: dict[str, Any], **changes: Any) -> CareSettings:
        values = {"rules": [replay_rule(**rule) for rule in rules or ({},)]} | changes
        return CareSettings.model_validate(values)

    def look(self, settings: CareSettings | None = None, owner: str = OWNER) -> Any:
        carer = Carer(
            self.book,
            settings or self.settings(),
            self.resend,
            owner=owner,
            wait=lambda _: False,
            settled=0,
        )
        return carer.look(self.providers, lambda: True)


def replay_rule(**changes: Any) -> dict[str, Any]:
    match = {"reason": "recipient_refused"}
    return {"name": "again", "match": match, "action": "replay", "first": 1} | changes


@pytest.fixture
def desk(book: CareBook, store: Store) -> Desk:
    return Desk(book=book, store=store, resend=Resend(store=store))


def close_letter(store: Store, url: str, seq: int) -> None:
    """As if it had been sent again."""
    with closing(Replays(url)) as replays, replays._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE dead_letters SET state = 'replayed' WHERE seq = {seq}")
