"""The pipeline: claim, send, decide, settle. One page, top to bottom.

Nothing returns normally from ``deliver`` before the notification's next step is durable:
delivered and written to the ledger, waiting on a rung of the delay ladder, or on its way to
the archive, confirmed by RabbitMQ. ``HandBack`` means: give the message back to its queue.
"""

import logging
import random
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from notify import deadletter
from notify.attemptlog import log_attempt, log_step, record_attempt
from notify.broker import Publisher
from notify.channels import Provider
from notify.config import ChannelSettings
from notify.errors import InvalidNotification, LedgerUnavailable, PublishError, Unavailable
from notify.ledger import (
    AttemptRecord,
    Busy,
    Claim,
    Claimed,
    Conflict,
    Ledger,
    NextStep,
    Unpublished,
)
from notify.message import Envelope, encode
from notify.outcomes import DeliveryFailure, Outcome, PermanentFailure, Reason, Receipt
from notify.policy import Dead, Delivered, decide, rung_for
from notify.publish import check_size
from notify.telemetry import event, safe_traceback
from notify.topology import DEAD, rung

log = logging.getLogger(__name__)

_T = TypeVar("_T")
# Below RabbitMQ's consumer timeout of 30 minutes, which would close the channel for all.
_PATIENCE: Final = 1200.0
_LONGEST_PAUSE: Final = 15.0
# While the worker stops, a known outcome is still worth some seconds' wait for Redis.
_STOP_PATIENCE: Final = 5.0
# The ledger's state for each kind of next step.
_STATES: Final = {"delay": "waiting", "dead": "dead"}


class HandBack(Exception):
    """The message must go back to its queue: nothing was decided that is not durable."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What the pipeline works with; time, chance and stopping are arguments for tests."""

    ledger: Ledger
    publisher: Publisher
    providers: Sequence[Provider]
    rungs: Sequence[int]
    pause: Callable[[float], bool]
    """Waits that many seconds, and answers whether the worker is stopping."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    random: Callable[[], float] = field(default=random.random)


class Pipeline:
    """Delivers the notifications of one channel. Thread-safe."""

    def __init__(self, name: str, settings: ChannelSettings, tools: Tools) -> None:
        self.name = name
        self.settings = settings
        self.tools = tools
        self.sending: dict[str, float] = {}
        """Owner of each send under way, and when its deadline passes (monotonic)."""
        self.handling = 0
        self.taken = 0
        """Messages being handled now, and taken since the start: a watcher compares them."""
        self._lock = threading.Lock()

    def deliver(self, envelope: Envelope, *, redelivered: bool = False) -> str:
        """Carries one message one step further; returns what was done, for the log.

        ``redelivered``: the broker has handed the message out before.
        """
        with self._lock:
            self.handling += 1
            self.taken += 1
        try:
            return self._deliver(envelope, redelivered)
        finally:
            with self._lock:
                self.handling -= 1

    def _deliver(self, envelope: Envelope, redelivered: bool) -> str:
        problem = self._problem(envelope)
        if problem:
            return self.archive(envelope, Reason.INVALID, problem)
        try:
            claim = self._claim(envelope, redelivered)
        except LedgerUnavailable as error:
            raise HandBack(str(error)) from error
        if isinstance(claim, Claimed):
            return self._send_and_settle(envelope, claim)
        if isinstance(claim, Unpublished):
            return self._repeat_step(envelope, claim)
        if isinstance(claim, Conflict):
            return self.archive(envelope, Reason.CONFLICT, "the id is known with other content")
        if isinstance(claim, Busy):
            return self._wait_for_other(envelope, claim)
        log_step("skipped", envelope, outcome="duplicate")
        return "skipped"

    def _claim(self, envelope: Envelope, redelivered: bool) -> Claim:
        send = self.settings.send
        return self.tools.ledger.claim(
            envelope,
            secrets.token_hex(8),
            lease=send.lease,
            resend_unknown=send.unknown == "resend",
            retention=send.retention,
            redelivered=redelivered,
        )

    def _send_and_settle(self, envelope: Envelope, claim: Claimed) -> str:
        envelope = envelope.evolve(generation=claim.generation, attempt=claim.attempt)
        started, begun = self.tools.now(), time.monotonic()
        outcome = self._send(envelope, claim)
        record = record_attempt(claim, outcome, started, self._provider(claim).name, begun)
        step = self._decide(envelope, outcome)
        log_attempt(envelope, record, step)
        settled = self._held(lambda: self._settle(envelope, claim, outcome, record, step))
        if not settled:
            raise HandBack("the lease ended before the outcome was written")
        if step is not None:
            self._publish_step(envelope, step)
            self._held(lambda: self._clear(envelope))
        return record.outcome

    def _send(self, envelope: Envelope, claim: Claimed) -> Outcome:
        notification, deadline = envelope.notification, self.settings.send.deadline
        if notification.expired(self.tools.now()):
            return PermanentFailure(Reason.EXPIRED, "expires_at passed before it could be sent")
        self.sending[claim.owner] = time.monotonic() + deadline
        try:
            return self._provider(claim).send(notification, deadline=deadline)
        except DeliveryFailure as failure:
            return failure
        except Exception as error:
            # A bug: retrying it for hours would hide it. The archive keeps the notification.
            log.error("provider is broken", extra=event(error=safe_traceback(error)))
            return PermanentFailure(Reason.INTERNAL_ERROR, type(error).__name__)
        finally:
            del self.sending[claim.owner]

    def _decide(self, envelope: Envelope, outcome: Outcome) -> NextStep | None:
        decision = decide(
            outcome,
            attempt=envelope.attempt,
            first_queued=envelope.first_queued,
            expires_at=envelope.notification.expires_at,
            policy=self.settings.policy(envelope.notification.priority),
            now=self.tools.now(),
            random=self.tools.random(),
        )
        if isinstance(decision, Delivered):
            return None
        if isinstance(decision, Dead):
            return NextStep(do="dead", reason=decision.reason, detail=decision.detail)
        return NextStep(do="delay", rung=rung_for(decision.seconds, self.tools.rungs))

    def _settle(
        self,
        envelope: Envelope,
        claim: Claimed,
        outcome: Outcome,
        record: AttemptRecord,
        step: NextStep | None,
    ) -> bool:
        ledger, retention = self.tools.ledger, self.settings.send.retention
        id, digest = envelope.notification.id, envelope.notification.digest
        if step is None and isinstance(outcome, Receipt):
            return ledger.settle_sent(
                id, claim, digest=digest, receipt=outcome, retention=retention
            )
        assert step is not None
        unknown = step.reason == Reason.UNKNOWN_OUTCOME
        state = "unknown" if unknown else _STATES[step.do]
        return ledger.settle_step(
            id, claim, state=state, attempt=record, step=step, retention=retention
        )

    def _repeat_step(self, envelope: Envelope, claim: Unpublished) -> str:
        envelope = envelope.evolve(generation=claim.generation, attempt=claim.attempt)
        self._publish_step(envelope, claim.step)
        self._held(lambda: self._clear(envelope))
        log_step("step repeated", envelope, outcome=claim.step.do, reason=claim.step.reason)
        return claim.step.do

    def _publish_step(self, envelope: Envelope, step: NextStep) -> None:
        if step.do == "delay":
            self._delay(envelope.evolve(attempt=envelope.attempt + 1, alone=False), step.rung)
            return
        attempts = self._held(lambda: self.tools.ledger.attempts(envelope.notification.id))
        self._bury(envelope, step.reason, step.detail, attempts)

    def _wait_for_other(self, envelope: Envelope, claim: Busy) -> str:
        """Comes back when the other's lease has ended: then its outcome is known, or not."""
        self._delay(envelope, rung_for(claim.seconds, self.tools.rungs))
        log_step("skipped", envelope, outcome="busy")
        return "busy"

    def archive(self, envelope: Envelope, reason: Reason, detail: str) -> str:
        """Sends it to the archive without an attempt, confirmed."""
        self._bury(envelope, reason, detail, ())
        log_step("archived", envelope, outcome="dead", reason=reason, detail=detail)
        return "dead"

    def _delay(self, envelope: Envelope, seconds: int) -> None:
        exchange = rung(envelope.notification.priority, seconds)
        message = encode(envelope, now=self.tools.now())
        self._held(lambda: self.tools.publisher.publish(exchange, message))

    def _bury(
        self, envelope: Envelope, reason: str, detail: str, attempts: Sequence[dict[str, Any]]
    ) -> None:
        now = self.tools.now()
        letter = deadletter.from_envelope(envelope, Reason(reason), detail, attempts, now)
        message = deadletter.encode(letter, now=now)
        self._held(lambda: self.tools.publisher.publish(DEAD, message))

    def _clear(self, envelope: Envelope) -> None:
        self.tools.ledger.clear(envelope.notification.id, envelope.generation, envelope.attempt)

    def _held(self, act: Callable[[], _T]) -> _T:
        """Does what must succeed before the message is let go; pauses grow between tries."""
        pause, give_up = 0.5, time.monotonic() + _PATIENCE
        while True:
            try:
                return act()
            except (Unavailable, PublishError) as error:
                log.warning("step not durable yet", extra=event(error=str(error), pause=pause))
                if time.monotonic() > give_up:
                    raise HandBack(str(error)) from error
                if self.tools.pause(pause):
                    give_up = min(give_up, time.monotonic() + _STOP_PATIENCE)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _provider(self, claim: Claimed) -> Provider:
        return self.tools.providers[(claim.attempt - 1) % len(self.tools.providers)]

    def _problem(self, envelope: Envelope) -> str | None:
        notification = envelope.notification
        if notification.channel != self.name:
            return f"channel: {notification.channel} on a queue of {self.name}"
        try:
            check_size(notification, self.settings.send.max_bytes)
        except InvalidNotification as error:
            return str(error)
        return None
