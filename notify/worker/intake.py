"""The way of a plain message: read, handed to a thread, done, acknowledged with others.

Celery makes a dozen objects for each message, and lets each thread wake the event loop. Here
the loop takes what is nothing but a notification straight to a thread, and acknowledges in one
write all that has ended since it looked last. Everything else goes Celery's way.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from notify.tasks import Verdict, Work
from notify.telemetry import event
from notify.worker.light import Light, is_plain, read
from notify.worker.showing import Showing

log = logging.getLogger(__name__)


class _Turn(Enum):
    """What a thread says of a message before its end."""

    BEGUN = "begun after a wait"
    STRANGE = "holds something else"


class Intake:
    """Between the consumer and the threads of one worker.

    All but ``_carry`` and ``_tell`` is for the thread of the event loop, the only one that may
    use the connection.
    """

    def __init__(self, consumer: Any, work: Work) -> None:
        self._consumer = consumer
        self._work = work
        self._showing = Showing(consumer)
        self._celery: Callable[[Any], Any] = lambda _: None
        self._told: deque[tuple[Light, Verdict | _Turn, str]] = deque()
        self._woken = False

    def begin(self, celery: Callable[[Any], Any]) -> None:
        """A connection begins; ``celery`` takes what goes Celery's way."""
        self._celery = celery
        # The loop that ended may have been told of something and never have come to it.
        self._woken = True
        self._consumer.hub.call_soon(self.settle)

    def take(self, message: Any) -> bool:
        """Whether it is taken here."""
        if not is_plain(message):
            return False
        request = Light(message, self._consumer.hostname)
        self._showing.received(request)
        if self._consumer.pool.put(partial(self._carry, request)):
            self._showing.begun(request)
        return True

    def hand_back(self, works: Sequence[Callable[[bool], None]]) -> None:
        """The worker stops, and no thread takes these: another worker need not wait for that."""
        for work in works:
            if isinstance(work, partial) and work.func == self._carry:
                self._tell(work.args[0], Verdict.HANDED_BACK, "stopping")

    def _carry(self, request: Light, waited: bool) -> None:
        """One message from its body to its verdict, in a thread."""
        request.time_start = time.time()
        if waited:
            self._tell(request, _Turn.BEGUN)
        what: Verdict | _Turn = Verdict.HANDED_BACK
        said, message = "interrupted", request.message
        try:
            notification = read(message.body)
            if notification is None:
                what = _Turn.STRANGE
                return
            what, said = self._work.do(
                message.headers, notification, message.delivery_info, message.properties
            )
        finally:
            request.runtime = time.time() - request.time_start
            self._tell(request, what, said)

    def _tell(self, request: Light, what: Verdict | _Turn, said: str = "") -> None:
        self._told.append((request, what, said))
        # Two threads that see it unset wake the loop twice, which does no harm.
        if not self._woken:
            self._woken = True
            self._consumer.hub.call_soon(self.settle)

    def settle(self) -> None:
        """Tells RabbitMQ of all that has ended, and Celery of all that was told."""
        # Unset first: what is told from now on is seen here or wakes the loop again.
        self._woken = False
        told = [self._told.popleft() for _ in range(len(self._told))]
        self._acknowledge(told)
        strange: list[Any] = []
        for request, what, said in told:
            if isinstance(what, Verdict):
                self._showing.settled(request, what, said)
            elif what is _Turn.BEGUN:
                self._showing.begun(request)
            else:
                self._showing.dropped(request)
                strange.append(request.message)
        # Last: it may find that the connection is lost.
        for message in strange:
            if message.channel.connection is not None:
                self._celery(message)

    def _acknowledge(self, told: list[tuple[Light, Verdict | _Turn, str]]) -> None:
        verdicts: dict[Any, list[tuple[int, Verdict]]] = {}
        for request, what, _ in told:
            if isinstance(what, Verdict):
                message = request.message
                verdicts.setdefault(message.channel, []).append((message.delivery_tag, what))
                request.acknowledged = True
        for channel, of_it in verdicts.items():
            if not channel.settle(of_it):
                lost = event(messages=len(of_it))
                log.info("connection lost: a message will come again", extra=lost)
