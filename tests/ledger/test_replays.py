"""A replay opens a new generation, once, and never beside a delivery under way."""

import pytest

from notify.ledger import Claimed, Duplicate, Stale
from tests.ledger.books import ID, RETENTION, Books

pytestmark = pytest.mark.redis


@pytest.mark.parametrize(
    ("state", "generation", "answer"),
    [
        ("absent", 2, "ok"),
        ("dead", 2, "ok"),
        ("dead!", 2, "ok"),
        ("dead", 7, "ok"),
        ("unknown", 2, "ok"),
        ("unknown!", 2, "ok"),
        ("dead", 1, "in flight"),
        ("unknown", 1, "in flight"),
        ("waiting", 2, "in flight"),
        ("waiting!", 2, "in flight"),
        ("sending", 2, "in flight"),
        # The worker that claimed it is gone.
        ("expired", 2, "ok"),
        ("expired", 1, "in flight"),
        ("sent", 2, "sent"),
    ],
)
def test_a_replay(state: str, generation: int, answer: str, books: Books) -> None:
    books.arrange(state, 1, 3)
    before = books.dump()
    assert books.replay(generation) == answer
    if answer != "ok":
        assert books.dump() == before
        return
    assert 0 < books.raw.pttl(books.key) <= RETENTION * 1000
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.generation, record.attempt) == ("waiting", generation, 0)
    assert (record.unpublished, record.step, record.lease_until) == (False, None, None)


@pytest.mark.parametrize("state", ["waiting", "waiting!"])
@pytest.mark.parametrize(
    ("generation", "archived", "answer"),
    [(2, 4, "ok"), (2, 3, "in flight"), (3, 4, "in flight"), (1, 4, "in flight")],
)
def test_what_was_waiting_for_a_message_that_is_in_the_archive_is_replayed(
    state: str, generation: int, archived: int, answer: str, books: Books
) -> None:
    """Its queue was gone when it came back from its rung, or it killed every worker."""
    books.arrange(state, 1, 3)
    assert books.replay(generation, archived=archived) == answer
    if answer == "ok":
        assert books.claim(1, 4) == Stale(state="waiting")
        assert isinstance(books.claim(2, 1), Claimed)


def test_a_replay_keeps_the_attempts_of_before(books: Books) -> None:
    books.arrange("dead", 1, 1)
    books.replay(2)
    books.settle(books.claimed(2, 1), "dead")
    assert [a["generation"] for a in books.ledger.attempts(ID)] == [1, 2]


def test_a_replay_may_be_repeated_until_its_message_is_taken(books: Books) -> None:
    books.arrange("dead", 1, 1)
    assert books.replay(2) == "ok"
    assert books.replay(2) == "ok"
    claim = books.claimed(2, 1)
    assert books.replay(2) == "in flight"
    assert books.settle(claim, "waiting")
    assert books.replay(2) == "in flight"
    assert books.replay(3) == "in flight"


def test_copies_of_the_older_generation_are_stale(books: Books) -> None:
    books.arrange("dead!", 1, 3)
    books.replay(2)
    for attempt in (1, 3, 4):
        assert books.claim(1, attempt) == Stale(state="waiting")
    assert isinstance(books.claim(2, 1), Claimed)


def test_a_replayed_notification_is_delivered_once(books: Books) -> None:
    books.arrange("dead", 1, 1)
    books.replay(2)
    assert books.settle(books.claimed(2, 1), "sent")
    assert books.claim(2, 1, "second copy") == Duplicate()
    assert books.replay(3) == "sent"


@pytest.mark.parametrize("came_back", [False, True])
def test_the_owner_of_before_cannot_settle_a_replayed_one(came_back: bool, books: Books) -> None:
    old = books.claimed(1, 1)
    if came_back:
        books.expire()
    else:
        books.settle(old, "dead")
    assert books.replay(2) == "ok"
    before = books.dump()
    for state in ("sent", "waiting", "dead"):
        assert not books.settle(old, state)
    assert books.dump() == before
