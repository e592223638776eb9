"""Whether a notification may be sent, by whom, and if not now, when."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from notify.blocklist import Block, Blocklist
from notify.broker import Publisher
from notify.errors import PublishError, Unavailable
from notify.message import Envelope, encode
from notify.metrics import Metrics
from notify.notification import Notification
from notify.outcomes import Outcome, PermanentFailure, Reason, Receipt
from notify.redisclient import Question
from notify.routing import Barred, NoProvider, Router, Turn
from notify.steps import HandBack, Pause
from notify.telemetry import event
from notify.topology import EXCHANGE

log = logging.getLogger(__name__)

EXPIRED: Final = PermanentFailure(Reason.EXPIRED, "expires_at passed before it was sent")
# How long one waits whose own providers cannot be used, while others of the channel can.
_NO_PROVIDER: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Later:
    """It comes back as it is, in so many seconds."""

    seconds: float
    why: str


Way = Turn | PermanentFailure
"""A turn with a provider, or why it must not be sent."""


class Admission:
    """``pause`` waits that many seconds, and answers whether the worker is stopping."""

    def __init__(
        self,
        router: Router,
        blocklist: Blocklist,
        publisher: Publisher,
        metrics: Metrics,
        pause: Callable[[float], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._router = router
        self._blocklist = blocklist
        self._publisher = publisher
        self._metrics = metrics
        self._pause = pause
        self._now = now

    def way(self, envelope: Envelope, *, on_trial: bool) -> Way | Later:
        """Waits for a turn where it may have one.

        Raises ``HandBack`` where the worker stops, ``Pause`` where the whole channel has no
        provider (``on_trial``: it is the only one that was taken, and waits for one), and
        ``LedgerUnavailable``.
        """
        notification = envelope.notification
        if notification.expired(self._now()):
            return EXPIRED
        wait = self._router.throttled(notification)
        if wait > 0:
            return Later(seconds=wait, why="throttled")
        with self._metrics.turn_seconds.labels(*envelope.queue).time():
            return self._turn(envelope, on_trial)

    def _turn(self, envelope: Envelope, on_trial: bool) -> Way | Later:
        notification = envelope.notification
        while True:
            try:
                return self._router.turn(notification, pinned=envelope.provider, holding=on_trial)
            except Barred:
                block = self._blocklist.blocked(notification)
            except NoProvider as error:
                block = self._blocklist.blocked(notification)
                if block is None:
                    return self._without_provider(error)
            if block is not None:
                return self.blocked(notification, block)

    def asking(self, notification: Notification) -> Question[Block | None]:
        """Whether it is blocked, to be asked with the claim: only that is recent enough."""
        return self._blocklist.asking(notification)

    def blocked(self, notification: Notification, block: Block) -> PermanentFailure:
        """Why it must not be sent; whoever has to know of the block is told."""
        self.tell(notification, block.report)
        return PermanentFailure(block.reason, block.detail)

    def learn(
        self, notification: Notification, outcome: Outcome, provider: str
    ) -> Sequence[Question[Any]]:
        """Takes note of recipients that must get nothing more. Raises ``LedgerUnavailable``.

        What there is to say of a success can be told with the next step.
        """
        if isinstance(outcome, Receipt):
            success = self._blocklist.asking_success(notification)
            return () if success is None else (success,)
        self.tell(notification, self._blocklist.learn(notification, outcome, provider))
        return ()

    def tell(self, about: Notification, report: Notification | None) -> None:
        """Publishes a report; where that fails, the next message for the recipient does it."""
        if report is None:
            return
        now = self._now()
        message = encode(Envelope(notification=report, first_queued=now), now=now)
        try:
            self._publisher.publish(EXCHANGE, message)
        except (Unavailable, PublishError) as error:
            log.warning("report not published", extra=event(id=report.id, why=str(error)))
        else:
            self._blocklist.reported(about)

    def _without_provider(self, error: NoProvider) -> Later:
        """Where others of the channel can be sent, this one waits on the ladder; otherwise it
        goes back to its queue with them."""
        if self._pause(0):
            raise HandBack(str(error)) from error
        if error.everywhere:
            raise Pause(str(error)) from error
        return Later(seconds=_NO_PROVIDER, why="no provider")
