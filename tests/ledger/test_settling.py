"""Writing outcomes: only by the owner, repeatable, and flagged until the next step is out."""

from typing import Any

import pytest

from notify.ledger import Claimed, Ledger, Stale, Unpublished
from notify.ledger.values import read_record, sent_text
from notify.outcomes import Receipt
from tests.ledger.books import DEAD, DELAY, ID, RETENTION, STEPS, Books, attempt_record

pytestmark = pytest.mark.redis
STATES = ("sent", "waiting", "dead", "unknown")


def ttl(books: Books) -> int:
    return int(books.raw.pttl(books.key))


@pytest.mark.parametrize("state", STATES)
def test_the_owner_writes_the_outcome_and_may_repeat_it(state: str, books: Books) -> None:
    claim = books.claimed(2, 3)
    books.raw.persist(books.key)
    assert books.settle(claim, state)
    assert 0 < ttl(books) <= RETENTION * 1000
    written = books.dump()
    assert books.settle(claim, state)
    assert books.dump() == written
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.generation, record.attempt) == (state, 2, 3)
    assert record.unpublished == (state != "sent")
    assert record.step == STEPS.get(state)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("first", STATES)
def test_another_outcome_afterwards_is_refused(first: str, state: str, books: Books) -> None:
    claim = books.claimed()
    books.settle(claim, first)
    written = books.dump()
    assert books.settle(claim, state) == (first == state)
    assert books.dump() == written


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("now", ["absent", "sending", "waiting", "dead!", "unknown", "sent"])
def test_who_does_not_own_the_claim_changes_nothing(now: str, state: str, books: Books) -> None:
    books.arrange(now, 2, 3)
    before = books.dump()
    # Whoever settles names another owner, attempt or generation than the record has.
    for claim in (
        Claimed(owner="me", generation=2, attempt=4),
        Claimed(owner="other", generation=2, attempt=2),
        Claimed(owner="other", generation=1, attempt=3),
        Claimed(owner="me", generation=2, attempt=3),
    ):
        if now == "sent" and state == "sent" and (claim.generation, claim.attempt) == (2, 3):
            continue
        assert not books.settle(claim, state)
        assert books.dump() == before


@pytest.mark.parametrize("resend", [False, True])
@pytest.mark.parametrize("state", ["sent", "waiting", "dead"])
def test_who_came_back_after_its_lease_was_taken_changes_nothing(
    state: str, resend: bool, books: Books
) -> None:
    slow = books.claimed()
    books.expire()
    books.claim(owner="other", resend=resend)
    before = books.dump()
    assert not books.settle(slow, state)
    assert books.dump() == before


def test_a_lease_that_ended_unnoticed_does_no_harm(books: Books) -> None:
    claim = books.claimed()
    books.expire()
    assert books.settle(claim, "sent")


@pytest.mark.parametrize("state", ["waiting", "dead", "unknown"])
def test_the_flag_stays_until_it_is_cleared_for_this_attempt(state: str, books: Books) -> None:
    books.arrange(f"{state}!", 2, 3)
    for generation, attempt in ((1, 3), (2, 2), (2, 4), (3, 3)):
        books.ledger.clear(ID, generation, attempt)
        assert books.claim(2, 3) == Unpublished(generation=2, attempt=3, step=STEPS[state])
    books.ledger.clear(ID, 2, 3)
    books.ledger.clear(ID, 2, 3)
    assert books.claim(2, 3) == Stale(state=state)
    assert 0 < ttl(books) <= RETENTION * 1000


@pytest.mark.parametrize("then", ["sending", "waiting!", "dead!", "sent"])
def test_a_clear_that_comes_after_the_next_attempt_has_begun(then: str, books: Books) -> None:
    """The next attempt's message overtook it; what that attempt wrote must stay."""
    books.arrange("waiting!", 1, 1)
    books.arrange(then, 1, 2)
    before = books.dump()
    books.ledger.clear(ID, 1, 1)
    assert books.dump() == before


def test_a_clear_without_a_record_makes_none(books: Books) -> None:
    books.ledger.clear(ID, 1, 1)
    assert books.dump() is None


def test_every_attempt_is_kept(books: Books) -> None:
    for attempt in range(1, 13):
        books.settle(books.claimed(1, attempt), "waiting")
    assert [a["attempt"] for a in books.ledger.attempts(ID)] == list(range(1, 13))
    assert books.ledger.attempts(ID)[0] | {"detail": ""} == {
        "generation": 1,
        "attempt": 1,
        "at": "2026-01-01T00:00:00.000+00:00",
        "provider": "texts",
        "outcome": "temporary",
        "reason": "provider_error",
        "detail": "",
        "code": "503",
        "ms": 12,
    }


def test_an_attempt_with_any_text_is_kept_as_it_is(books: Books) -> None:
    claim, detail = books.claimed(), 'отказ "%d|%s" \\ {} 👋\n\x00'
    books.ledger.settle_step(
        ID,
        claim,
        state="waiting",
        attempt=attempt_record(claim, detail),
        step=DELAY,
        retention=RETENTION,
    )
    assert books.ledger.attempts(ID)[0]["detail"] == detail


@pytest.mark.parametrize(
    ("provider_id", "kept"),
    [
        ("abc-1", "abc-1"),
        ("a|b%sc%d", "abscd"),
        ("%.0f%%|", ".0f"),
        ("ключ-7", "-7"),
        ("x" * 500, None),
        ("line\nbreak\x00", "linebreak"),
        ("", ""),
    ],
)
def test_a_delivered_record_is_small_and_reads_back(
    provider_id: str, kept: str | None, books: Books
) -> None:
    claim = books.claimed(2**31 - 1, 2**31 - 1)
    receipt = Receipt(provider="p" * 32, provider_id=provider_id)
    digest = books.notification.digest
    assert books.ledger.settle_sent(ID, claim, digest=digest, receipt=receipt, retention=RETENTION)
    assert len(books.dump().encode()) <= 150
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.digest, record.provider) == ("sent", digest, "p" * 32)
    assert (record.generation, record.attempt) == (2**31 - 1, 2**31 - 1)
    assert record.provider_id == kept or (kept is None and set(record.provider_id) == {"x"})
    assert abs(record.changed_at.timestamp() - books.ledger.now().timestamp()) < 5


def test_a_usual_provider_id_is_kept_whole() -> None:
    for id in ("SM" + "f" * 32, "01234567-89ab-cdef-0123-456789abcdef"):
        text = sent_text(1, 1, "d" * 32, "texts", id) % 1
        assert read_record(ID, text).provider_id == id


def test_reading_tells_of_nobody_and_of_a_live_lease(books: Books) -> None:
    assert books.ledger.record(ID) is None
    assert books.ledger.attempts(ID) == ()
    books.claimed()
    record = books.ledger.record(ID)
    assert record is not None
    assert record.lease_until
    assert 28 < record.lease_until.timestamp() - books.ledger.now().timestamp() <= 30
    assert (record.queue, record.created_at) == ("sms.normal", record.changed_at)


def test_two_prefixes_are_two_ledgers(books: Books, servers: Any) -> None:
    other = Ledger(servers.redis_url, prefix=f"{books.prefix}x", timeout=1)
    books.arrange("dead", 1, 1)
    assert other.record(ID) is None
    other.close()


def test_progress_is_kept_for_a_while(books: Books) -> None:
    books.ledger.note_progress("notify.sms.normal", 1_700_000_000)
    assert books.ledger.progress(["notify.sms.normal", "other"]) == {
        "notify.sms.normal": 1_700_000_000
    }
    assert books.raw.ttl(f"{books.prefix}:q:notify.sms.normal") > 86400
    assert DEAD.to_json() == '{"do": "dead", "reason": "refused", "detail": "HTTP 400"}'
