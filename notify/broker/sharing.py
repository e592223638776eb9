"""One channel for all threads that publish one message each: they share writes and confirms.

Whoever finds the channel free writes what all have queued. One of those who wait reads the
confirms, for the others too, and hands that on when its own has come. So there is no thread
and no connection but those of the callers, and many messages go with one system call.
"""

import threading
import time
from collections import deque
from contextlib import suppress
from typing import Final

from notify.broker.confirming import ConfirmChannel
from notify.errors import BrokerUnavailable, NotifyError, QueueFull, Unconfirmed, Unroutable
from notify.message import Message

# Who reads looks so often whether there is something to send that the socket did not take.
_LOOK: Final = 0.05


class Publish:
    """One message of one caller, who waits for it; ``gate`` opens when there is news.

    One that is done but was never written was not taken: the channel is retired.
    """

    __slots__ = ("data", "done", "error", "exchange", "gate", "token", "written")

    def __init__(self, exchange: str, token: str, data: bytes) -> None:
        self.exchange = exchange
        self.token = token
        self.data = data
        self.written = self.done = False
        self.error: NotifyError | None = None
        self.gate = threading.Lock()
        self.gate.acquire()

    def wake(self) -> None:
        """Only by who has the channel: another may be about to open the gate, too."""
        if self.gate.locked():
            self.gate.release()

    def end(self, error: NotifyError | None) -> None:
        self.error = error
        self.done = True
        self.wake()


class SharedChannel:
    """Publishes for many threads at once. When it is ``retired`` it takes nothing new."""

    def __init__(self, channel: ConfirmChannel) -> None:
        self._channel = channel
        self._queue: deque[Publish] = deque()
        self._waiting: dict[str, Publish] = {}
        # Of the channel and of who waits. Whoever has it never waits for the broker, and looks
        # at the queue again afterwards: others may have found the channel taken.
        self._having = threading.Lock()
        self._reading = threading.Lock()
        self.retired = False

    def usable(self, oldest: float) -> bool:
        """False where it has been idle since before ``oldest`` (monotonic), or was closed."""
        if self._waiting or self.retired:
            return not self.retired
        with self._having:
            idle = not (self._waiting or self.retired)
            if idle and (self._channel.last_used < oldest or not self._channel.alive()):
                self._retire()
        self._write()
        return not self.retired

    def publish(self, exchange: str, message: Message, deadline: float) -> Publish:
        """Returns when it is done: confirmed, refused or lost with the connection, by ``error``.

        Raises ``Unconfirmed`` or ``BrokerBlocked`` when the time is over (monotonic).
        """
        publish = Publish(exchange, message.token, self._channel.encode(exchange, message))
        self._queue.append(publish)
        try:
            self._write()
            self._await(publish, deadline)
        except BaseException:
            self._give_up(publish)
            raise
        if not publish.done and (late := self._give_up(publish)):
            raise late
        return publish

    def close(self) -> None:
        """Says good-bye, unless somebody waits for a confirm: then after the last one."""
        with self._having:
            if not self._waiting and not self.retired:
                self._channel.close()
            self._retire()
        self._write()

    def _await(self, publish: Publish, deadline: float) -> None:
        while not publish.done and (remaining := deadline - time.monotonic()) > 0:
            if not self._reading.acquire(blocking=False):
                publish.gate.acquire(timeout=remaining)
                continue
            try:
                self._read(publish, deadline)
            finally:
                self._reading.release()
                self._hand_on()

    def _read(self, publish: Publish, deadline: float) -> None:
        """Reads for all until its own is done."""
        while not publish.done and (remaining := deadline - time.monotonic()) > 0:
            if self._channel.ready(min(remaining, _LOOK)):
                with self._having:
                    self._exchange()
                self._write()

    def _hand_on(self) -> None:
        """Wakes one who waits, to read."""
        with self._having:
            self._send()
            for other in self._waiting.values():
                other.wake()
                break
        self._write()

    def _write(self) -> None:
        """Writes what is queued, unless another does; that one looks again when it is done."""
        while self._queue and self._having.acquire(blocking=False):
            try:
                self._send()
            finally:
                self._having.release()

    def _send(self) -> None:
        while self._queue:
            publish = self._queue.popleft()
            if self.retired:
                publish.end(None)
                continue
            self._waiting[publish.token] = publish
            publish.written = True
            self._channel.put_encoded(publish.token, publish.data)
        if self._waiting:
            self._exchange(receive=False)

    def _exchange(self, *, receive: bool = True) -> None:
        try:
            self._channel.flush()
            if receive:
                self._channel.receive()
        except NotifyError as error:
            self._settle()
            self._fail(error)
        except BaseException:
            # What was read is half done: a message that came back might count as confirmed.
            self._fail(BrokerUnavailable("RabbitMQ: interrupted"))
            raise
        else:
            self._settle()

    def _settle(self) -> None:
        if not self._channel.results:
            return
        results, self._channel.results = self._channel.results, {}
        self._channel.last_used = time.monotonic()
        for token, error in results.items():
            publish = self._waiting.pop(token, None)
            if publish is not None:
                publish.end(error)
            if isinstance(error, QueueFull) and self._channel.doubtful:
                self.retired = True
        if self.retired:
            self._retire()

    def _retire(self) -> None:
        """Takes nothing new, and ends with the last that waits."""
        self.retired = True
        if not self._waiting:
            self._channel.drop()

    def _fail(self, error: NotifyError) -> None:
        waiting, self._waiting = self._waiting, {}
        text = str(error)
        for publish in waiting.values():
            # An exchange that does not exist closes the channel for all, and who named it may
            # have left.
            named = f"exchange '{publish.exchange}'" in text
            innocent = isinstance(error, Unroutable) and not named
            kind = BrokerUnavailable if innocent else type(error)
            publish.end(kind(text))
        self._retire()

    def _give_up(self, publish: Publish) -> NotifyError | None:
        """Why there is no confirm; None where it came in the last moment."""
        with self._having:
            if not publish.done:
                self._waiting.pop(publish.token, None)
                with suppress(ValueError):
                    self._queue.remove(publish)
                self._retire()
                late = self._channel.late() or Unconfirmed()
            else:
                late = None
        # It may have been woken to read when its time was over.
        self._hand_on()
        return late
