"""Many publishes with a window of outstanding confirms, over one channel of their own."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from notify.broker.confirming import ConfirmChannel
from notify.broker.laggards import LATEST, Laggards
from notify.errors import BrokerBlocked, NotifyError, PublishError, QueueFull, Unconfirmed
from notify.message import Message

# Between two tries to connect again.
_PAUSE: Final = 0.1
# So many messages or bytes go with one write.
_BATCH: Final = 64
_BATCH_BYTES: Final = 65536


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """A message to publish; ``key`` comes back with its result."""

    key: Any
    exchange: str
    message: Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """``error`` is None when a majority of brokers has the message."""

    key: Any
    error: NotifyError | None = None


class Pool(Protocol):
    """Where a window has its channels from."""

    def acquire(self, deadline: float) -> ConfirmChannel: ...

    def release(self, channel: ConfirmChannel) -> None: ...


class Window:
    """The outstanding messages of one run; published again after a lost connection."""

    def __init__(self, pool: Pool, size: int, patience: float) -> None:
        self._pool = pool
        self._size = size
        self._patience = patience
        self._channel: ConfirmChannel | None = None
        self._pending: dict[str, Outgoing] = {}
        self._refused = False
        self._put = 0
        self._looked = time.monotonic()
        self._give_up = self._looked + patience
        # Of the channel. The run itself has it but while it asks for the next item, and while
        # the caller has the results.
        self._lock = threading.RLock()
        self._laggards = Laggards(self._hurry)

    def run(self, items: Iterable[Outgoing]) -> Iterator[Result]:
        """One result for each item, in the order of the confirms."""
        try:
            for item in items:
                if self._take(item):
                    yield from self._until(self._size - 1)
                    if self._doubtful():
                        yield from self._until(0)
                        self.drop()
            yield from self._until(0)
            self._finish()
        finally:
            self._laggards.stop()
            self.drop()

    def _take(self, item: Outgoing) -> bool:
        """Whether it is time to send, and to look for confirms."""
        with self._lock:
            now = time.monotonic()
            if not self._pending:
                self._give_up = now + self._patience
            self._pending[item.message.token] = item
            if self._channel is None:
                return True
            self._channel.put(item.exchange, item.message)
            self._put += 1
            due = self._put >= _BATCH or now - self._looked >= LATEST
            if due or len(self._pending) >= self._size or self._channel.unsent >= _BATCH_BYTES:
                return True
        if self._put == 1:
            self._laggards.expect()
        return False

    def _hurry(self) -> None:
        with self._lock, suppress(NotifyError):
            if self._channel is not None:
                self._channel.flush()  # where that fails, the run will know

    def _until(self, most: int) -> Iterator[Result]:
        """Sends, and looks for confirms until no more than ``most`` are outstanding."""
        while True:
            with self._lock:
                if time.monotonic() - self._looked > self._patience:
                    # The source or the caller took that time, not the broker.
                    self._give_up = time.monotonic() + self._patience
                results = self._exchange(most)
                self._looked = time.monotonic()
            yield from results
            if self._within(most):
                return

    def _within(self, most: int) -> bool:
        # What the broker does not take is memory, and not too much of it either.
        kept = 0 if self._channel is None else self._channel.unsent
        return len(self._pending) <= most and kept < _BATCH_BYTES

    def _exchange(self, most: int) -> list[Result]:
        if not self._pending:
            return []
        self._put = 0
        try:
            channel = self._channel or self._reopen()
            channel.flush()
            if self._within(most):
                channel.receive()
            elif not channel.wait(self._give_up):
                raise channel.late() or Unconfirmed()
        except NotifyError as error:
            return self._failed(error)
        return self._collect()

    def _reopen(self) -> ConfirmChannel:
        """A new connection begins with all that is pending."""
        self._channel = channel = self._pool.acquire(self._give_up)
        for item in self._pending.values():
            channel.put(item.exchange, item.message)
        return channel

    def _collect(self) -> list[Result]:
        if self._channel is None or not self._channel.results:
            return []
        answers, self._channel.results = self._channel.results, {}
        self._give_up = time.monotonic() + self._patience
        results = []
        for token, error in answers.items():
            item = self._pending.pop(token, None)
            if item is not None:
                results.append(Result(key=item.key, error=error))
                self._refused |= error is not None and isinstance(error, QueueFull)
        return results

    def _failed(self, error: NotifyError) -> list[Result]:
        results = self._collect()
        self.drop()
        final = isinstance(error, PublishError | BrokerBlocked)
        if not final and time.monotonic() < self._give_up:
            time.sleep(_PAUSE)
            return results
        items, self._pending = self._pending.values(), {}
        return [*results, *(Result(key=item.key, error=error) for item in items)]

    def _doubtful(self) -> bool:
        return self._refused and self._channel is not None and self._channel.doubtful

    def _finish(self) -> None:
        with self._lock:
            if self._channel is None or self._doubtful():
                return
            channel, self._channel = self._channel, None
        self._pool.release(channel)

    def drop(self) -> None:
        """Closes the connection, on which something failed or a run was broken off."""
        with self._lock:
            self._refused = False
            if self._channel is not None:
                self._channel.drop()
                self._channel = None
