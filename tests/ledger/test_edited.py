"""A replay may change the content: then that is what the id stands for."""

from typing import Any

import pytest

from notify.ledger import Claimed, Duplicate, Known, Replaying, Stale
from tests.ledger.books import ID, RETENTION, Books

pytestmark = pytest.mark.redis

NEW: Any = {"body": "Corrected"}


@pytest.mark.parametrize("state", ["absent", "dead", "dead!", "unknown", "expired"])
def test_the_new_content_is_sent(state: str, books: Books) -> None:
    books.arrange(state, 1, 3)
    assert books.replay(2, **NEW) == "ok"
    assert isinstance(books.claim(2, 1, **NEW), Claimed)


@pytest.mark.parametrize("state", ["absent", "dead", "unknown"])
def test_copies_of_the_old_content_are_old_and_no_conflict(state: str, books: Books) -> None:
    """Late ones, or because whoever published it does so again."""
    books.arrange(state, 1, 3)
    assert books.replay(2, **NEW) == "ok"
    assert books.claim(1, 1, "late") == Stale(state="waiting")
    claim = books.claim(2, 1, **NEW)
    assert isinstance(claim, Claimed)
    assert books.claim(1, 1, "late") == Stale(state="sending")
    books.expire()
    assert books.claim(1, 4, "late") == Stale(state="sending")
    assert books.settle(claim, "sent")
    assert books.claim(1, 1, "late") == Duplicate()
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.provider_id) == ("sent", "abc-1")


def test_other_content_is_a_conflict_as_before(books: Books) -> None:
    books.arrange("dead", 1, 1)
    assert books.replay(2, **NEW) == "ok"
    for generation in (2, 3):
        assert type(books.claim(generation, 1, body="Strange")).__name__ == "Conflict"
    claim = books.claim(2, 1, **NEW)
    assert isinstance(claim, Claimed)
    assert books.settle(claim, "sent")
    assert type(books.claim(1, 1, body="Strange")).__name__ == "Conflict"


def test_a_conflict_is_not_replayed(books: Books) -> None:
    """What is archived has other content than what the id stands for."""
    books.arrange("dead", 1, 1)
    before = books.dump()
    replaying = Replaying(
        envelope=books.envelope(2, body="Strange"),
        retention=RETENTION,
        archived=1,
        digest=books.notification.evolve(body="Strange").digest,
    )
    assert books.ledger.replay([replaying])[0].answer == "conflict"
    assert books.dump() == before


def test_what_was_changed_can_be_changed_again_and_back(books: Books) -> None:
    old = books.notification
    books.arrange("dead", 1, 1)
    assert books.replay(2, **NEW) == "ok"
    assert books.replay(2, **NEW) == "ok"
    books.notification = old.evolve(**NEW)
    assert books.settle(books.claimed(2, 1), "dead")
    assert books.replay(3, body=old.body) == "ok"
    books.notification = old
    assert books.claim(2, 1, **NEW) == Stale(state="waiting")
    assert isinstance(books.claim(3, 1), Claimed)


def test_the_last_change_of_a_generation_is_what_it_says(books: Books) -> None:
    """A replay that was given up may have published it with other changes, or none."""
    books.arrange("dead", 1, 1)
    assert books.replay(2, **NEW) == "ok"
    assert books.replay(2, body="Better") == "ok"
    assert books.claim(2, 1, **NEW) == Stale(state="waiting")
    assert books.replay(2) == "ok"
    assert books.claim(2, 1, body="Better") == Stale(state="waiting")
    assert isinstance(books.claim(2, 1), Claimed)
    assert books.claim(2, 1, "late", **NEW) == Stale(state="sending")


@pytest.mark.parametrize(
    ("state", "known"),
    [
        ("absent", None),
        ("sending", ("sending", 1, 2)),
        ("waiting", ("waiting", 1, 2)),
        ("dead!", ("dead", 1, 2)),
        ("unknown", ("unknown", 1, 2)),
        ("sent", ("sent", 1, 2)),
    ],
)
def test_what_is_known_of_many(
    state: str, known: tuple[str, int, int] | None, books: Books
) -> None:
    books.arrange(state, 1, 2)
    found, now = books.ledger.known(["nobody", ID])
    assert now > 1_700_000_000_000
    if known is None:
        assert found == {}
        return
    each = found.pop(ID)
    assert found == {}
    assert (each.state, each.generation, each.attempt) == known
    assert each.digests == (books.notification.digest,)
    assert (each.lease_until > now) == (state == "sending")


def test_what_is_known_has_the_old_digests(books: Books) -> None:
    books.arrange("dead", 1, 1)
    books.replay(2, **NEW)
    digests = (books.notification.evolve(**NEW).digest, books.notification.digest)
    assert books.ledger.known([ID])[0][ID].digests == digests
    claim = books.claim(2, 1, **NEW)
    assert isinstance(claim, Claimed)
    old, books.notification = books.notification, books.notification.evolve(**NEW)
    books.settle(claim, "sent")
    expected = Known(
        state="sent",
        generation=2,
        attempt=1,
        digests=(books.notification.digest, old.digest),
    )
    assert books.ledger.known([ID])[0][ID] == expected


def test_nothing_is_asked_of_nobody(books: Books) -> None:
    assert books.ledger.known([])[0] == {}
    assert books.ledger.replay([]) == []
