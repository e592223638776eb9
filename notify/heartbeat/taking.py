"""What a worker does with a heartbeat: all but the call to a provider."""

from notify.claiming import Claims
from notify.deliver import Pipeline
from notify.errors import LedgerUnavailable
from notify.heartbeat.values import KEPT
from notify.ledger import Claim, Claimed
from notify.message import Envelope
from notify.outcomes import Receipt
from notify.routing import Availability
from notify.steps import Pause


class Heartbeats:
    """Takes the heartbeats from the queue of one worker. Thread-safe.

    What cannot be done is let go: the next one comes soon, and silence is the signal.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._tools = pipeline.tools
        send = pipeline.settings.send
        self._kept = max(KEPT, 2 * send.lease)
        brief = send.model_copy(update={"retention": self._kept})
        settings = pipeline.settings.model_copy(update={"send": brief})
        self._claims = Claims(self._tools.ledger, settings, self._tools.rungs[0])

    def take(self, envelope: Envelope, *, redelivered: bool, on_trial: bool) -> str:
        """What was done with it, for the log. Raises ``Pause``, as a notification would."""
        with self._pipeline.busy():
            done = self._take(envelope, redelivered, on_trial)
        self._tools.metrics.heartbeats.labels(*envelope.queue, done).inc()
        return f"heartbeat {done}"

    def _take(self, envelope: Envelope, redelivered: bool, on_trial: bool) -> str:
        if envelope.notification.expired(self._tools.now()):
            return "expired"
        # A trial is for a notification, which can tell something.
        if on_trial or not self._usable(urgent=envelope.notification.priority == "urgent"):
            return "dropped"
        try:
            claim = self._claimed(envelope, redelivered)
            if not isinstance(claim, Claimed):
                return "skipped"
            return "settled" if self._settle(envelope, claim) else "late"
        except LedgerUnavailable as error:
            raise Pause(str(error)) from error

    def _usable(self, *, urgent: bool) -> bool:
        standings = self._tools.router.fleet.standings(urgent)
        return any(each.availability is Availability.USABLE for each in standings)

    def _claimed(self, envelope: Envelope, redelivered: bool) -> Claim:
        """Asks for a turn, and does not wait for one: it would be another's that waits longer."""
        turn = self._tools.router.next_turn(envelope.notification, ())
        provider = turn.name if turn else ""
        try:
            return self._claims.claim(envelope, redelivered=redelivered, provider=provider)
        finally:
            if turn is not None:
                self._tools.router.give_back(turn)

    def _settle(self, envelope: Envelope, claim: Claimed) -> bool:
        notification = envelope.notification
        return self._tools.ledger.settle_sent(
            notification.id,
            claim,
            digest=notification.digest,
            receipt=Receipt(provider="heartbeat"),
            retention=self._kept,
        )
