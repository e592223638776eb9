"""The pipeline: limit, claim, send, decide, settle. One page, top to bottom.

Nothing returns normally from ``deliver`` before the notification's next step is durable:
delivered and written to the ledger, waiting on a rung of the delay ladder, or on its way to
the archive, confirmed by RabbitMQ. ``HandBack`` means: give the message back to its queue.
"""

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from notify.admission import EXPIRED, Admission, Later, Way
from notify.attemptlog import Journal, record_attempt
from notify.blocklist import Block
from notify.claiming import Claims
from notify.config import ChannelSettings
from notify.errors import InvalidNotification, LedgerUnavailable
from notify.ledger import (
    Busy,
    Claim,
    Claimed,
    Conflict,
    NextStep,
    Unpublished,
)
from notify.message import Envelope
from notify.outcomes import (
    Outcome,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.policy import Dead, Delivered, decide, rung_for
from notify.routing import Turn
from notify.sending import Sends
from notify.settling import Offered, settle
from notify.sizes import check_size
from notify.steps import HandBack, Pause, Steps
from notify.tools import Tools


class Pipeline:
    """Delivers the notifications of one channel. Thread-safe."""

    def __init__(self, name: str, settings: ChannelSettings, tools: Tools) -> None:
        self.name = name
        self.settings = settings
        self.tools = tools
        self._sends = Sends()
        self.handling = 0
        self.taken = 0
        """Messages being handled now, and taken since the start: a watcher compares them."""
        self._lock = threading.Lock()
        self.claims = Claims(tools.ledger, settings, tools.rungs[0])
        self._admission = Admission(
            tools.router,
            tools.blocklist,
            tools.publisher,
            tools.metrics,
            tools.pause,
            tools.now,
        )
        self._journal = Journal(tools.metrics)
        self._steps = Steps(tools.ledger, tools.publisher, tools.pause, tools.now)

    def adopt(self, settings: ChannelSettings) -> None:
        """Goes on with these: retries, throttle, and what limits the same providers."""
        self.settings = settings
        self.tools.router.adopt(settings)

    @property
    def sending(self) -> Mapping[str, float]:
        """The sends under way: for each, when its deadline passes (monotonic)."""
        return self._sends.under_way

    @property
    def holding(self) -> int:
        """How many threads wait because what they decided cannot be made durable."""
        return self._steps.waiting

    def deliver(
        self, envelope: Envelope, *, redelivered: bool = False, on_trial: bool = False
    ) -> str:
        """Carries one message one step further; returns what was done, for the log.

        ``redelivered``: the broker has handed the message out before. ``on_trial``: it is the
        only one that was taken, to try a provider with, and is held until there is one.
        """
        with self.busy():
            return self._deliver(envelope, redelivered, on_trial)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While a message is handled, here or in a process of its own."""
        with self._lock:
            self.handling += 1
            self.taken += 1
        try:
            yield
        finally:
            with self._lock:
                self.handling -= 1

    def _deliver(self, envelope: Envelope, redelivered: bool, on_trial: bool) -> str:
        problem = self._problem(envelope)
        if problem:
            return self.archive(envelope, Reason.INVALID, problem)
        try:
            way = self._admission.way(envelope, on_trial=on_trial)
            if isinstance(way, Later):
                return self._put_off(envelope, way)
            asked = time.monotonic()
            claim, block = self._claim(envelope, redelivered, way)
        except LedgerUnavailable as error:
            raise Pause(str(error)) from error
        self._journal.claim(envelope, claim)
        if not isinstance(claim, Claimed):
            self._give_back(way)
            return self._without_send(envelope, claim)
        if block is not None:
            self._give_back(way)
            way = self._steps.held(partial(self._admission.blocked, envelope.notification, block))
        self._check_lease(envelope, claim, way, asked)
        return self._send_and_settle(envelope, claim, way)

    def _claim(self, envelope: Envelope, redelivered: bool, way: Way) -> tuple[Claim, Block | None]:
        """The right to send, and why its recipient gets nothing all the same, if so."""
        ask = partial(self.claims.claim, envelope, redelivered=redelivered)
        if not isinstance(way, Turn):
            return ask(provider=""), None
        blocked = self._admission.asking(envelope.notification)
        try:
            return ask(provider=way.name, beside=[blocked]), blocked.answer
        except LedgerUnavailable:
            self._give_back(way)
            raise

    def _give_back(self, way: Way) -> None:
        if isinstance(way, Turn):
            self.tools.router.give_back(way)

    def _check_lease(self, envelope: Envelope, claim: Claimed, way: Way, asked: float) -> None:
        """A process that was stopped meanwhile must not send when its claim may be another's."""
        send = self.settings.send
        if time.monotonic() - asked > send.lease - send.deadline:
            self._give_back(way)
            self._steps.held(lambda: self.tools.ledger.release(envelope.notification.id, claim))
            raise HandBack("the lease was too short for a send")

    def _without_send(self, envelope: Envelope, claim: Claim) -> str:
        if isinstance(claim, Unpublished):
            return self._repeat_step(envelope, claim)
        if isinstance(claim, Conflict):
            return self.archive(envelope, Reason.CONFLICT, "the id is known with other content")
        if isinstance(claim, Busy):
            # Then the other's lease has ended, and its outcome is known, or not.
            return self._put_off(envelope, Later(seconds=claim.seconds, why="busy"))
        self._journal.step("skipped", envelope, outcome="duplicate")
        return "skipped"

    def _send_and_settle(self, envelope: Envelope, claim: Claimed, way: Way) -> str:
        envelope = _as_claimed(envelope, claim)
        offered = self._offer(envelope, claim, way)
        tried = {offered.record.provider}
        while following := self._next_turn(envelope, offered.outcome, tried):
            self._go_on(envelope, claim, offered, following)
            offered = self._offer(envelope, claim, following)
            tried.add(offered.record.provider)
        step = self._decide(envelope, offered)
        self._journal.attempt(envelope, offered.record, step)
        kept = self.settings.send.retention
        attempts = self._steps.held(
            lambda: settle(self.tools.ledger, envelope, claim, offered, step, kept)
        )
        if attempts is None:
            raise HandBack("the lease ended before the outcome was written")
        if step is not None:
            self._steps.publish(envelope, step, attempts)
        return offered.record.outcome

    def _offer(self, envelope: Envelope, claim: Claimed, way: Way) -> Offered:
        """Gives it to one provider."""
        started, begun = self.tools.now(), time.monotonic()
        if isinstance(way, Turn) and envelope.notification.expired(started):
            self.tools.router.give_back(way)  # it was long in coming
            way = EXPIRED
        if not isinstance(way, Turn):
            return Offered(way, record_attempt(claim, way, started, "", begun))
        outcome = self._sends.send(
            way.provider, envelope.notification, claim.owner, self.settings.send.deadline
        )
        record = record_attempt(claim, outcome, started, way.name, begun)
        over = self.tools.router.done(way, outcome, time.monotonic() - begun)
        learnt = self._steps.held(
            lambda: self._admission.learn(envelope.notification, outcome, way.name)
        )
        return Offered(outcome, record, (*over, *learnt))

    def _next_turn(
        self, envelope: Envelope, outcome: Outcome, tried: Collection[str]
    ) -> Turn | None:
        """A turn with another provider, where this one is at fault and surely has nothing."""
        elsewhere = isinstance(outcome, TemporaryFailure) and outcome.at_provider
        if not elsewhere or envelope.provider in tried or self.tools.pause(0):
            return None
        with suppress(LedgerUnavailable):
            return self.tools.router.next_turn(envelope.notification, tried)
        return None

    def _go_on(self, envelope: Envelope, claim: Claimed, failed: Offered, turn: Turn) -> None:
        """Writes that one provider failed, and that another has it now."""
        self._journal.attempt(envelope, failed.record, None)
        asked = time.monotonic()
        try:
            going_on = self._steps.held(
                lambda: self.tools.ledger.offer(
                    envelope.notification.id,
                    claim,
                    failed=failed.record,
                    provider=turn.name,
                    lease=self.settings.send.lease,
                    retention=self.settings.send.retention,
                    beside=failed.beside,
                )
            )
            if not going_on:
                raise HandBack("the lease ended before the next provider had it")
        except HandBack:
            self.tools.router.give_back(turn)
            raise
        self._check_lease(envelope, claim, turn, asked)

    def _decide(self, envelope: Envelope, offered: Offered) -> NextStep | None:
        outcome = offered.outcome
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
        # No other provider could tell that it has it already.
        unknown = isinstance(outcome, UnknownOutcome)
        pinned = offered.record.provider if unknown else envelope.provider
        rung = rung_for(decision.seconds, self.tools.rungs)
        return NextStep(do="delay", rung=rung, provider=pinned)

    def _repeat_step(self, envelope: Envelope, claim: Unpublished) -> str:
        envelope = _as_claimed(envelope, claim)
        self._steps.publish(envelope, claim.step)
        self._journal.step(
            "step repeated", envelope, outcome=claim.step.do, reason=claim.step.reason
        )
        return claim.step.do

    def _put_off(self, envelope: Envelope, later: Later) -> str:
        """Comes back later as it is: that was no attempt."""
        self._steps.delay(envelope, rung_for(later.seconds, self.tools.rungs))
        self._journal.step("skipped", envelope, outcome=later.why)
        return later.why

    def archive(self, envelope: Envelope, reason: Reason, detail: str) -> str:
        """Sends it to the archive without an attempt, confirmed."""
        self._steps.bury(envelope, reason, detail, ())
        self._journal.step("archived", envelope, outcome="dead", reason=reason, detail=detail)
        return "dead"

    def _problem(self, envelope: Envelope) -> str | None:
        notification = envelope.notification
        if notification.channel != self.name:
            return f"channel: {notification.channel} on a queue of {self.name}"
        try:
            check_size(notification, self.settings.send.max_bytes)
        except InvalidNotification as error:
            return str(error)
        return self.tools.router.problem(notification)


def _as_claimed(envelope: Envelope, claim: Claimed | Unpublished) -> Envelope:
    if (envelope.generation, envelope.attempt) == (claim.generation, claim.attempt):
        return envelope
    return envelope.evolve(generation=claim.generation, attempt=claim.attempt)
