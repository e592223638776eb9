"""What is asked with a step of the ledger shares its round trip, and not its fate."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from notify.errors import LedgerUnavailable
from notify.ledger import Claimed
from notify.redisclient import Question
from notify.redisclient.wire import Wire
from tests.ledger.books import DEAD, ID, RETENTION, Books, attempt_record

pytestmark = pytest.mark.redis


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many questions went out with each write."""
    counted: list[int] = []
    plain = Wire.exchange

    def exchange(self: Wire, packed: bytes, count: int) -> list[object]:
        counted.append(count)
        return plain(self, packed, count)

    monkeypatch.setattr(Wire, "exchange", exchange)
    yield counted


def add_one(books: Books) -> Question[int]:
    return Question(("INCR", f"{books.prefix}:beside"))


def refused(books: Books, *, needed: bool) -> Question[int]:
    books.raw.rpush(f"{books.prefix}:list", "x")
    return Question(("INCR", f"{books.prefix}:list"), needed=needed)


def settle_dead(books: Books, claim: Claimed, *beside: Question[Any]) -> bool:
    record = attempt_record(claim)
    return books.ledger.settle_step(
        ID, claim, state="dead", attempt=record, step=DEAD, retention=RETENTION, beside=beside
    )


def claim(books: Books, *beside: Question[int]) -> object:
    return books.ledger.claim(
        books.envelope(), "me", lease=30, resend_unknown=False, retention=600, beside=beside
    )


def test_a_claim_and_what_is_asked_with_it_are_one_round_trip(
    books: Books, trips: list[int]
) -> None:
    claim(books)
    trips.clear()
    question = add_one(books)
    assert isinstance(claim(books, question), Claimed)
    assert (question.answer, trips) == (1, [2])


def test_a_claim_whose_companion_was_refused_is_none(books: Books) -> None:
    """Redis has carried it out, as it may have any claim without an answer."""
    with pytest.raises(LedgerUnavailable):
        claim(books, refused(books, needed=True))
    assert books.raw.hget(books.key, "s") == "sending"


def test_the_attempts_of_what_is_dead_come_with_its_settlement(
    books: Books, trips: list[int]
) -> None:
    claimed = books.claimed()
    attempts = books.ledger.asking_attempts(ID)
    assert settle_dead(books, claimed)
    assert len(books.ledger.attempts(ID)) == 1
    trips.clear()
    assert settle_dead(books, claimed, attempts)
    assert trips == [2]
    assert [each["reason"] for each in attempts.answer] == ["provider_error"]


def test_a_settlement_stands_where_its_companion_was_refused(books: Books) -> None:
    counted = add_one(books)
    assert settle_dead(books, books.claimed(), refused(books, needed=False), counted)
    assert counted.answer == 1
    record = books.ledger.record(ID)
    assert record is not None
    assert record.state == "dead"


def test_the_next_provider_has_it_with_what_is_told_of_the_first(
    books: Books, trips: list[int], raw: redis.Redis
) -> None:
    claimed = books.claimed()
    books.offer(claimed, "first")
    trips.clear()
    question = add_one(books)
    assert books.ledger.offer(
        ID,
        claimed,
        failed=attempt_record(claimed),
        provider="second",
        lease=30,
        retention=RETENTION,
        beside=[question],
    )
    assert (question.answer, trips) == (1, [2])
    assert raw.hget(books.key, "p") == "second"
