"""Any sequence of steps on one id: never two senders, and nothing that is decided is undone."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from notify.ledger import Claimed, Duplicate, Ledger, Record, Stale, Unpublished
from notify.local import Servers
from tests.ledger.books import ID, STEPS, Books

pytestmark = pytest.mark.redis

generations = st.integers(1, 3)
attempts = st.integers(1, 4)


@pytest.fixture
def shared(servers: Servers, raw: redis.Redis) -> Iterator[Books]:
    ledger = Ledger(servers.redis_url, prefix="none", timeout=5)
    yield Books(ledger, raw, "none")
    ledger.close()


class Steps(RuleBasedStateMachine):
    """Everybody who may touch a record does so in any order, late and more than once."""

    books: Books

    def __init__(self) -> None:
        super().__init__()
        # A prefix for each run, over one connection.
        self.books.prefix = self.books.ledger._prefix = f"s{uuid4().hex}"
        self.books.ledger._marker = f"{self.books.prefix}:marker"
        self.books.ledger._seen = 0
        self.books.ledger.mark()
        self.claims: list[Claimed] = []
        self.delivered: Claimed | None = None
        self.before: Record | None = None
        self.owners = 0

    def holder(self) -> str | None:
        """Who may be sending now."""
        record: dict[str, Any] = {}
        if self.books.raw.type(self.books.key) == "hash":
            record = self.books.dump()
        live = record.get("s") == "sending" and int(record["l"]) > 1000
        return record["o"] if live else None

    @rule(generation=generations, attempt=attempts, resend=st.booleans())
    def claim(self, generation: int, attempt: int, resend: bool) -> None:
        holder, known = self.holder(), self.books.ledger.record(ID)
        self.owners += 1
        answer = self.books.claim(generation, attempt, f"o{self.owners}", resend=resend)
        if isinstance(answer, Claimed):
            assert holder is None
            assert self.delivered is None
            assert known is None or answer.generation >= known.generation
            self.claims.append(answer)
        elif isinstance(answer, Duplicate):
            assert self.delivered
        elif isinstance(answer, Stale):
            assert known
            assert not known.unpublished
        elif isinstance(answer, Unpublished):
            assert known
            assert known.unpublished or known.state == "sending"
            if known.unpublished:
                assert answer.step == known.step

    @rule(data=st.data(), state=st.sampled_from(["sent", *STEPS]))
    def settle(self, data: st.DataObject, state: str) -> None:
        if not self.claims:
            return
        claim = data.draw(st.sampled_from(self.claims))
        known = self.books.ledger.record(ID)
        done = self.books.settle(claim, state)
        assert known
        same = (known.generation, known.attempt) == (claim.generation, claim.attempt)
        if done:
            assert same
            assert known.state in ("sending", state)
        if done and state == "sent":
            assert self.delivered in (None, claim)
            self.delivered = claim

    @rule(data=st.data(), provider=st.sampled_from(["second", "third"]))
    def offer(self, data: st.DataObject, provider: str) -> None:
        if not self.claims:
            return
        claim = data.draw(st.sampled_from(self.claims))
        known = self.books.ledger.record(ID)
        done = self.books.offer(claim, provider)
        if done:
            assert known
            assert known.state == "sending"
            assert (known.generation, known.attempt) == (claim.generation, claim.attempt)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if self.claims:
            # Its owner will not send any more.
            self.books.ledger.release(ID, self.claims.pop(-1))

    @rule(generation=generations, attempt=attempts)
    def clear(self, generation: int, attempt: int) -> None:
        known = self.books.ledger.record(ID)
        self.books.ledger.clear(ID, generation, attempt)
        now = self.books.ledger.record(ID)
        if known and now and known.unpublished and not now.unpublished:
            assert (generation, attempt) == (known.generation, known.attempt)

    @rule(generation=generations)
    def replay(self, generation: int) -> None:
        holder, known = self.holder(), self.books.ledger.record(ID)
        answer = self.books.replay(generation)
        if answer == "ok":
            assert holder is None
            assert self.delivered is None
            assert known is None or known.generation <= generation
        assert (answer == "sent") == (self.delivered is not None)

    @rule()
    def expire(self) -> None:
        if self.holder():
            self.books.expire()

    @invariant()
    def nothing_is_undone(self) -> None:
        before, now = self.before, self.books.ledger.record(ID)
        self.before = now
        if before is None:
            return
        assert now
        assert now.generation >= before.generation
        if before.state == "sent":
            assert now == before
        if before.generation == now.generation:
            assert now.attempt >= before.attempt
            assert now.state == "sent" or len(now.attempts) >= len(before.attempts)
        assert self.books.raw.pttl(self.books.key) > 0


def test_any_sequence_of_steps(shared: Books) -> None:
    class OnTheseBooks(Steps):
        books = shared

    run_state_machine_as_test(
        OnTheseBooks,
        settings=settings(
            max_examples=80,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
