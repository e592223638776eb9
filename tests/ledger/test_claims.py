"""What each message is answered in each state of its record."""

import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import pytest

from notify.ledger import (
    Busy,
    Claim,
    Claimed,
    Conflict,
    Duplicate,
    NextStep,
    Stale,
    Unpublished,
)
from notify.local import Servers
from tests.deployment import ROOT
from tests.ledger.books import DEAD, DELAY, ID, RETENTION, RUNG, Books

pytestmark = pytest.mark.redis


def ours(generation: int, attempt: int) -> Claimed:
    return Claimed(owner="me", generation=generation, attempt=attempt)


def again(generation: int, attempt: int, provider: str = "") -> Unpublished:
    """Waiting for the attempt after one whose outcome is unknown."""
    step = NextStep(do="delay", rung=RUNG, provider=provider)
    return Unpublished(generation=generation, attempt=attempt, step=step)


DIED = NextStep(do="dead", reason="unknown_outcome", detail="last: worker_died")
WAIT = Unpublished(generation=2, attempt=3, step=DELAY)
BURY = Unpublished(generation=2, attempt=3, step=DEAD)

# The record is at generation 2, attempt 3; each row: state, generation and attempt of the
# message, answer. Busy is compared by type.
TABLE: list[tuple[str, int, int, Claim]] = [
    ("absent", 1, 1, ours(1, 1)),
    ("absent", 4, 9, ours(4, 9)),
    ("sending", 2, 3, Busy(seconds=0)),
    ("sending", 2, 4, Busy(seconds=0)),
    ("sending", 1, 9, Busy(seconds=0)),
    ("sending", 3, 1, Busy(seconds=0)),
    ("expired", 2, 3, Unpublished(generation=2, attempt=3, step=DIED)),
    ("expired", 1, 9, Unpublished(generation=2, attempt=3, step=DIED)),
    ("waiting!", 2, 3, WAIT),
    ("waiting!", 2, 1, WAIT),
    ("waiting!", 1, 9, WAIT),
    # The message that the step publishes is here: so the step was published.
    ("waiting!", 2, 4, ours(2, 4)),
    ("waiting!", 3, 1, ours(3, 1)),
    ("waiting", 2, 3, Stale(state="waiting")),
    ("waiting", 2, 1, Stale(state="waiting")),
    ("waiting", 1, 9, Stale(state="waiting")),
    ("waiting", 2, 4, ours(2, 4)),
    ("waiting", 2, 7, ours(2, 7)),
    ("waiting", 3, 1, ours(3, 1)),
    ("dead!", 2, 3, BURY),
    ("dead!", 2, 4, BURY),
    ("dead!", 1, 1, BURY),
    ("dead!", 3, 1, ours(3, 1)),
    ("dead", 2, 3, Stale(state="dead")),
    ("dead", 2, 4, Stale(state="dead")),
    ("dead", 1, 9, Stale(state="dead")),
    ("dead", 3, 1, ours(3, 1)),
    ("unknown!", 2, 3, BURY),
    ("unknown", 2, 3, Stale(state="unknown")),
    ("unknown", 1, 1, Stale(state="unknown")),
    ("unknown", 3, 1, ours(3, 1)),
    ("sent", 2, 3, Duplicate()),
    ("sent", 1, 1, Duplicate()),
    ("sent", 3, 1, Duplicate()),
]


@pytest.mark.parametrize(("state", "generation", "attempt", "answer"), TABLE)
def test_a_claim(state: str, generation: int, attempt: int, answer: Any, books: Books) -> None:
    books.arrange(state, 2, 3)
    claim = books.claim(generation, attempt)
    if isinstance(answer, Busy):
        assert isinstance(claim, Busy)
        assert 29 < claim.seconds <= 30
    else:
        assert claim == answer
    assert 0 < books.raw.pttl(books.key) <= RETENTION * 1000
    record = books.ledger.record(ID)
    assert record is not None
    assert record.generation >= 2 or state == "absent"


@pytest.mark.parametrize("state", sorted({row[0] for row in TABLE} - {"absent"}))
def test_other_content_under_the_same_id_is_a_conflict(state: str, books: Books) -> None:
    books.arrange(state, 1, 1)
    before = books.dump()
    assert books.claim(body="Something else") == Conflict()
    assert books.claim(recipient="+491709999999") == Conflict()
    assert books.dump() == before


def test_labels_and_priority_are_no_content(books: Books) -> None:
    books.arrange("sent", 1, 1)
    assert books.claim(labels={"a": "b"}, priority="urgent") == Duplicate()


@pytest.mark.parametrize(("attempt", "recorded"), [(1, 3), (3, 3), (6, 5)])
def test_after_a_dead_worker_the_send_is_repeated_later_where_that_is_wanted(
    attempt: int, recorded: int, books: Books
) -> None:
    """With the provider that may have had it."""
    books.arrange("expired", 2, 3)
    assert books.claim(2, attempt, resend=True) == again(2, recorded, "first")
    assert books.claim(2, 3, resend=True) == again(2, recorded, "first")
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.attempt, record.lease_until) == ("waiting", recorded, None)
    (died,) = record.attempts
    assert (died["attempt"], died["outcome"], died["reason"]) == (3, "unknown", "worker_died")
    assert (died["provider"], died["at"]) == ("first", "1970-01-01T00:00:01+00:00")
    assert books.claim(2, recorded + 1, resend=True) == ours(2, recorded + 1)


def test_what_three_workers_died_of_is_poison(books: Books) -> None:
    for attempt in (1, 2, 3):
        books.claimed(1, attempt, f"worker {attempt}")
        books.expire()
        if attempt < 3:
            assert books.claim(1, attempt, resend=True) == again(1, attempt, "first")
    poison = NextStep(do="dead", reason="poison", detail="last: worker_died")
    for _ in range(2):
        claim = books.claim(1, 1, "other", resend=True)
        assert claim == Unpublished(generation=1, attempt=3, step=poison)
    assert [a["reason"] for a in books.ledger.attempts(ID)] == ["worker_died"] * 3
    # A replay begins the count anew.
    books.ledger.clear(ID, 1, 3)
    assert books.replay(2) == "ok"
    books.claimed(2, 1, "other")
    books.expire()
    assert books.claim(2, 1, resend=True) == again(2, 1, "first")


def test_a_claim_that_was_given_back_is_anyones_and_no_attempt(books: Books) -> None:
    claim = books.claimed(1, 2)
    books.ledger.release(ID, claim)
    assert books.ledger.record(ID)
    assert books.claim(1, 2, "other") == Claimed(owner="other", generation=1, attempt=2)
    assert books.ledger.attempts(ID) == ()
    # The second owner's claim is not the first one's to give back.
    books.ledger.release(ID, claim)
    assert isinstance(books.claim(1, 2, "third"), Busy)
    assert not books.settle(claim, "sent")


def test_a_claim_goes_on_to_the_next_provider(books: Books) -> None:
    claim = books.claimed(1, 1)
    for _ in range(2):
        assert books.offer(claim, "second")
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.provider, len(record.attempts)) == ("sending", "second", 1)
    books.expire()
    assert books.claim(1, 1, "other", resend=True) == again(1, 1, "second")
    assert not books.offer(claim, "third")


@pytest.mark.parametrize("state", ["absent", "waiting", "dead", "unknown", "sent", "sending"])
def test_only_the_owner_of_a_claim_can_take_it_to_another_provider(
    state: str, books: Books
) -> None:
    books.arrange(state, 1, 1)
    before = books.dump()
    assert not books.offer(Claimed(owner="me", generation=1, attempt=1), "second")
    assert books.dump() == before


def test_a_dead_worker_is_recorded_once_and_stays_unpublished_until_it_is(books: Books) -> None:
    books.arrange("expired", 1, 1)
    for _ in range(3):
        assert books.claim() == Unpublished(generation=1, attempt=1, step=DIED)
    record = books.ledger.record(ID)
    assert record is not None
    assert (record.state, record.unpublished, len(record.attempts)) == ("unknown", True, 1)
    books.ledger.clear(ID, 1, 1)
    assert books.claim() == Stale(state="unknown")


def test_a_claim_repeated_by_its_owner_is_granted_again_with_a_new_lease(books: Books) -> None:
    first = books.claimed()
    books.expire()
    assert books.claim() == first
    assert isinstance(books.claim(owner="other"), Busy)
    assert books.settle(first, "sent")


def test_one_of_sixteen_threads_gets_the_claim(books: Books) -> None:
    barrier = threading.Barrier(16)
    answers: list[Claim] = []

    def claim(owner: str) -> None:
        barrier.wait()
        answers.append(books.claim(owner=owner))

    threads = [threading.Thread(target=claim, args=(f"owner-{n}",)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(type(answer) for answer in answers) == {Claimed: 1, Busy: 15}


CLAIMING = """
import os, sys
from datetime import UTC, datetime
from notify.ledger import Ledger
from notify.message import Envelope
from tests.deployment import sms

ledger = Ledger(sys.argv[1], prefix=sys.argv[2])
first = datetime.fromisoformat(sys.argv[3])
envelopes = [Envelope(notification=sms(id=f"n{n}"), first_queued=first) for n in range(100)]
ledger.now()
print("ready", flush=True)
sys.stdin.readline()
for envelope in envelopes:
    claim = ledger.claim(
        envelope, f"process-{os.getpid()}", lease=30, resend_unknown=True, retention=60
    )
    print(type(claim).__name__, flush=True)
"""


def test_one_of_four_processes_gets_each_claim(books: Books, servers: Servers) -> None:
    first = books.envelope().first_queued.isoformat()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMING, servers.redis_url, books.prefix, first],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=30)[0].split() for process in processes]
    assert [len(lines) for lines in answers] == [100] * 4
    for of_one_id in zip(*answers, strict=True):
        assert Counter(of_one_id) == {"Claimed": 1, "Busy": 3}


@pytest.mark.parametrize(
    ("redelivered", "resend", "answer"),
    [
        (False, False, ours(1, 2)),
        (True, True, again(1, 2)),
        (
            True,
            False,
            Unpublished(
                generation=1,
                attempt=2,
                step=NextStep(do="dead", reason="unknown_outcome", detail="last: ledger_lost"),
            ),
        ),
    ],
)
def test_a_message_that_is_older_than_a_loss_of_keys(
    redelivered: bool, resend: bool, answer: Claim, books: Books
) -> None:
    old = books.envelope(1, 2)
    books.raw.hset(f"{books.prefix}:marker", "born", str(2**52))
    claim = books.ledger.claim(
        old,
        "me",
        lease=30,
        resend_unknown=resend,
        retention=RETENTION,
        redelivered=redelivered,
    )
    assert claim == answer
    assert 0 < books.raw.pttl(books.key) <= RETENTION * 1000
