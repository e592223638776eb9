"""Makes the next step of a notification durable, however long that takes.

``HandBack`` means: give the message back to its queue.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from notify import deadletter
from notify.broker import Publisher
from notify.errors import PublishError, Unavailable
from notify.ledger import Ledger, NextStep
from notify.message import Envelope, encode
from notify.outcomes import Reason
from notify.telemetry import event
from notify.topology import DEAD, rung

log = logging.getLogger(__name__)

_T = TypeVar("_T")
# Below RabbitMQ's consumer timeout of 30 minutes, which would close the channel for all.
_PATIENCE: Final = 1200.0
_LONGEST_PAUSE: Final = 15.0
# While the worker stops, a known outcome is still worth some seconds' wait for Redis.
_STOP_PATIENCE: Final = 5.0


class HandBack(Exception):
    """The message must go back to its queue: nothing was decided that is not durable."""


class Pause(HandBack):
    """The message must go back, and no other be taken until something can be sent again."""


class Steps:
    """``pause`` waits that many seconds, and answers whether the worker is stopping."""

    def __init__(
        self,
        ledger: Ledger,
        publisher: Publisher,
        pause: Callable[[float], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._publisher = publisher
        self._pause = pause
        self._now = now
        self._waiting: set[int] = set()

    @property
    def waiting(self) -> int:
        """How many threads hold a message because its next step cannot be made durable."""
        return len(self._waiting)

    def publish(
        self,
        envelope: Envelope,
        step: NextStep,
        attempts: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        """Publishes what the ledger has as the next step, and then notes that it did.

        ``attempts`` are those that the archive is to have, unless they must be looked up.
        """
        if step.do == "delay":
            attempt = envelope.attempt + 1
            following = envelope.evolve(attempt=attempt, alone=False, provider=step.provider)
            self.delay(following, step.rung)
        else:
            id = envelope.notification.id
            if attempts is None:
                attempts = self.held(lambda: self._ledger.attempts(id))
            self.bury(envelope, step.reason, step.detail, attempts)
        self.held(lambda: self._clear(envelope))

    def _clear(self, envelope: Envelope) -> None:
        self._ledger.clear(envelope.notification.id, envelope.generation, envelope.attempt)

    def delay(self, envelope: Envelope, seconds: int) -> None:
        """Puts it on a rung of the delay ladder, confirmed."""
        exchange = rung(envelope.notification.priority, seconds)
        message = encode(envelope, now=self._now())
        self.held(lambda: self._publisher.publish(exchange, message))

    def bury(
        self, envelope: Envelope, reason: str, detail: str, attempts: Sequence[dict[str, Any]]
    ) -> None:
        """Sends it to the archive, confirmed."""
        now = self._now()
        letter = deadletter.from_envelope(envelope, Reason(reason), detail, attempts, now)
        message = deadletter.encode(letter, now=now)
        self.held(lambda: self._publisher.publish(DEAD, message))

    def held(self, act: Callable[[], _T]) -> _T:
        """Does what must succeed before the message is let go; pauses grow between tries.

        Raises ``HandBack`` after twenty minutes, and soon when the worker is stopping.
        """
        try:
            return self._repeated(act)
        finally:
            self._waiting.discard(threading.get_ident())

    def _repeated(self, act: Callable[[], _T]) -> _T:
        pause, give_up = 0.5, time.monotonic() + _PATIENCE
        while True:
            try:
                return act()
            except (Unavailable, PublishError) as error:
                self._waiting.add(threading.get_ident())
                log.warning("step not durable yet", extra=event(error=str(error), pause=pause))
                if time.monotonic() > give_up:
                    raise HandBack(str(error)) from error
                if self._pause(pause):
                    give_up = min(give_up, time.monotonic() + _STOP_PATIENCE)
                    # That came back at once.
                    time.sleep(min(pause, 1.0))
                pause = min(pause * 2, _LONGEST_PAUSE)
