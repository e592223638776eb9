"""One notification's record, brought into any state."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from notify.ledger import AttemptRecord, Claim, Claimed, Ledger, NextStep, Replaying
from notify.message import Envelope
from notify.notification import Notification
from notify.outcomes import Reason, Receipt
from tests.deployment import sms

ID = "order-7"
RETENTION = 1000.0
RUNG = 5
DELAY = NextStep(do="delay", rung=5)
DEAD = NextStep(do="dead", reason=Reason.REFUSED, detail="HTTP 400")
STEPS = {"waiting": DELAY, "dead": DEAD, "unknown": DEAD}


@dataclass
class Books:
    """A ledger of its own, and the same keys seen without it."""

    ledger: Ledger
    raw: redis.Redis
    prefix: str
    notification: Notification = field(default_factory=lambda: sms(id=ID))

    @property
    def key(self) -> str:
        return f"{self.prefix}:n:{ID}"

    def envelope(self, generation: int = 1, attempt: int = 1, **changes: Any) -> Envelope:
        return Envelope(
            notification=self.notification.evolve(**changes),
            generation=generation,
            attempt=attempt,
            # The ledger may have been opened within the same millisecond.
            first_queued=datetime.now(UTC) + timedelta(seconds=1),
        )

    def claim(
        self,
        generation: int = 1,
        attempt: int = 1,
        owner: str = "me",
        *,
        lease: float = 30.0,
        resend: bool = False,
        redelivered: bool = False,
        **changes: Any,
    ) -> Claim:
        return self.ledger.claim(
            self.envelope(generation, attempt, **changes),
            owner,
            lease=lease,
            resend_unknown=resend,
            retention=RETENTION,
            redelivered=redelivered,
            provider="first",
            rung=RUNG,
        )

    def claimed(self, generation: int = 1, attempt: int = 1, owner: str = "me") -> Claimed:
        claim = self.claim(generation, attempt, owner)
        assert isinstance(claim, Claimed)
        return claim

    def settle(self, claim: Claimed, state: str) -> bool:
        if state == "sent":
            receipt = Receipt(provider="texts", provider_id="abc-1")
            return self.ledger.settle_sent(
                ID, claim, digest=self.notification.digest, receipt=receipt, retention=RETENTION
            )
        return self.ledger.settle_step(
            ID,
            claim,
            state=state,
            attempt=attempt_record(claim),
            step=STEPS[state],
            retention=RETENTION,
        )

    def offer(self, claim: Claimed, provider: str) -> bool:
        return self.ledger.offer(
            ID,
            claim,
            failed=attempt_record(claim),
            provider=provider,
            lease=30.0,
            retention=RETENTION,
        )

    def replay(self, generation: int, *, archived: int = 0, **changes: Any) -> str:
        """``changes`` are to the content of what is archived."""
        replaying = Replaying(
            envelope=self.envelope(generation, **changes),
            retention=RETENTION,
            archived=archived,
            digest=self.notification.digest,
        )
        return self.ledger.replay([replaying])[0].answer

    def arrange(self, state: str, generation: int, attempt: int) -> None:
        """``waiting!`` is waiting with a next step that may not be published."""
        if state == "absent":
            return
        claim = self.claimed(generation, attempt, "other")
        if state == "expired":
            self.expire()
        elif state != "sending":
            self.settle(claim, state.rstrip("!"))
            if not state.endswith("!"):
                self.ledger.clear(ID, generation, attempt)

    def expire(self) -> None:
        """Lets the lease end, as if its time had passed."""
        self.raw.hset(self.key, "l", "1000")

    def dump(self) -> Any:
        """All that is stored of the notification."""
        kind = self.raw.type(self.key)
        return self.raw.hgetall(self.key) if kind == "hash" else self.raw.get(self.key)


def attempt_record(claim: Claimed, detail: str = "") -> AttemptRecord:
    return AttemptRecord(
        generation=claim.generation,
        attempt=claim.attempt,
        at="2026-01-01T00:00:00.000+00:00",
        provider="texts",
        outcome="temporary",
        reason=Reason.PROVIDER_ERROR,
        detail=detail,
        code="503",
        ms=12,
    )
