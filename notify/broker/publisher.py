"""Confirmed publishing: one by one, or many with a window of outstanding confirms."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

from notify.broker.channel import ConfirmChannel
from notify.errors import (
    BrokerBlocked,
    BrokerUnavailable,
    NotifyError,
    PublishError,
    QueueFull,
    Unconfirmed,
)
from notify.message import Message

# A load balancer or firewall may have dropped an idle connection without a word.
_MAX_IDLE_SECONDS: Final = 30.0
_MAX_IDLE_CHANNELS: Final = 8
# Between two tries to connect again.
_PAUSE: Final = 0.1
# For so long a channel is believed that a queue is full.
_REFUSED_FOR: Final = 1.0


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


class Publisher:
    """Publishes with confirms over connections of its own. Safe in threads and after fork."""

    def __init__(
        self, urls: Sequence[str], *, connect_timeout: float = 3.0, confirm_timeout: float = 10.0
    ) -> None:
        self._urls = tuple(urls)
        self._answered = self._urls[0] if self._urls else ""
        self._connect_timeout = connect_timeout
        self._confirm_timeout = confirm_timeout
        self._lock = threading.Lock()
        self._idle: list[ConfirmChannel] = []
        self._pid = os.getpid()

    def publish(self, exchange: str, message: Message, *, timeout: float | None = None) -> None:
        """Returns when RabbitMQ has confirmed the message.

        ``timeout`` in seconds bounds everything, connecting included. A publish whose
        connection is lost is repeated within it. Raises ``Unroutable``, ``QueueFull``,
        ``Unconfirmed``, ``BrokerBlocked`` or ``BrokerUnavailable``.
        """
        deadline = time.monotonic() + (timeout or self._confirm_timeout)
        attempt = _Attempt()
        retrying = Retrying(
            retry=retry_if_exception_type(BrokerUnavailable),
            stop=stop_before_delay(deadline - time.monotonic()),
            wait=wait_exponential(multiplier=0.05, max=1.0),
            reraise=True,
        )
        try:
            retrying(self._publish_once, exchange, message, deadline, attempt)
        except BrokerBlocked:
            raise
        except BrokerUnavailable as error:
            if attempt.written:
                raise Unconfirmed from error
            raise

    def _publish_once(
        self, exchange: str, message: Message, deadline: float, attempt: "_Attempt"
    ) -> None:
        channel = self.acquire(deadline)
        try:
            attempt.written = True
            token = channel.publish(exchange, message)
            while token not in channel.results:
                if not channel.wait(deadline):
                    raise channel.late() or Unconfirmed()
            error = channel.results.pop(token)
        except BaseException:
            channel.drop()
            raise
        if isinstance(error, QueueFull) and _doubtful(channel):
            channel.drop()
        else:
            self.release(channel)
        if error is not None:
            raise error

    def publish_many(
        self, items: Iterable[Outgoing], *, window: int = 500, timeout: float | None = None
    ) -> Iterator[Result]:
        """Publishes with up to ``window`` unconfirmed at once; yields one result for each.

        Results come in the order of the confirms. ``timeout`` in seconds bounds the wait
        for the next confirm, after which all that are outstanding are ``Unconfirmed``.
        """
        run = _Window(self, window, timeout or self._confirm_timeout)
        try:
            for item in items:
                yield from run.add(item)
            yield from run.finish()
        finally:
            run.drop()

    def close(self) -> None:
        with self._lock:
            channels, self._idle = self._idle, []
        for channel in channels:
            channel.close()

    def acquire(self, deadline: float) -> ConfirmChannel:
        """An idle channel or a new one, for one thread. Raises ``BrokerUnavailable``."""
        channel = self._take_idle()
        return channel or self._connect(deadline)

    def _take_idle(self) -> ConfirmChannel | None:
        oldest = time.monotonic() - _MAX_IDLE_SECONDS
        with self._lock:
            if self._pid != os.getpid():
                # The sockets belong to the parent process: forget them, do not close them.
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                channel = self._idle.pop()
                if channel.last_used >= oldest and channel.alive():
                    return channel
                channel.drop()
        return None

    def _connect(self, deadline: float) -> ConfirmChannel:
        error: NotifyError = BrokerUnavailable("RabbitMQ: no time was left to connect")
        # The one that answered last comes first, so that a dead one costs its timeout once.
        for url in sorted(self._urls, key=lambda url: url != self._answered):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            try:
                channel = ConfirmChannel(
                    url,
                    connect_timeout=min(self._connect_timeout, remaining),
                    read_timeout=self._confirm_timeout,
                )
                self._answered = url
                return channel
            except BrokerUnavailable as failed:
                error = failed
        raise error

    def release(self, channel: ConfirmChannel) -> None:
        """Gives back a channel on which nothing failed and nothing is outstanding."""
        channel.last_used = time.monotonic()
        with self._lock:
            if len(self._idle) < _MAX_IDLE_CHANNELS:
                self._idle.append(channel)
                return
        channel.close()


def _doubtful(channel: ConfirmChannel) -> bool:
    """Whether a refusal may come from the channel itself.

    RabbitMQ's side of a channel that was opened while a queue had no leader refuses all for
    that queue, for as long as the channel lives. Where the queue is full indeed, a new channel
    a second is not too many.
    """
    return time.monotonic() - channel.opened > _REFUSED_FOR


class _Attempt:
    """Whether any part of a message may have reached the broker."""

    written = False


class _Window:
    """The outstanding messages of one ``publish_many``; republished after a lost connection."""

    def __init__(self, publisher: Publisher, size: int, patience: float) -> None:
        self._publisher = publisher
        self._size = size
        self._patience = patience
        self._channel: ConfirmChannel | None = None
        self._pending: dict[str, Outgoing] = {}
        self._give_up = time.monotonic() + patience
        self._refused = False

    def add(self, item: Outgoing) -> Iterator[Result]:
        if self._refused and self._channel is not None and _doubtful(self._channel):
            yield from self._renew()
        if not self._pending:
            self._give_up = time.monotonic() + self._patience
        self._pending[item.message.token] = item
        yield from self._step(lambda channel: channel.publish(item.exchange, item.message))
        while len(self._pending) >= self._size:
            yield from self._step(self._wait)

    def _renew(self) -> Iterator[Result]:
        """A new channel; first what is outstanding on the old one."""
        while self._pending:
            yield from self._step(self._wait)
        self.drop()
        self._refused = False

    def finish(self) -> Iterator[Result]:
        while self._pending:
            yield from self._step(self._wait)
        if self._refused and self._channel is not None and _doubtful(self._channel):
            self.drop()
        if self._channel is not None:
            channel, self._channel = self._channel, None
            self._publisher.release(channel)

    def drop(self) -> None:
        """Closes the connection of a run that was broken off."""
        if self._channel is not None:
            self._channel.drop()
            self._channel = None

    def _step(self, act: Callable[[ConfirmChannel], object]) -> Iterator[Result]:
        try:
            if self._channel is None:
                # A new connection begins with all that is pending, this step's item included.
                self._reopen()
            else:
                act(self._channel)
        except NotifyError as error:
            yield from self._failed(error)
        else:
            yield from self._collect()

    def _reopen(self) -> None:
        self._channel = self._publisher.acquire(self._give_up)
        for item in self._pending.values():
            self._channel.publish(item.exchange, item.message)

    def _wait(self, channel: ConfirmChannel) -> None:
        if not channel.wait(self._give_up):
            raise channel.late() or Unconfirmed()

    def _collect(self) -> Iterator[Result]:
        if self._channel is None or not self._channel.results:
            return
        results = list(self._channel.results.items())
        self._channel.results.clear()
        self._give_up = time.monotonic() + self._patience
        for token, error in results:
            item = self._pending.pop(token, None)
            if item is not None:
                self._refused |= isinstance(error, QueueFull)
                yield Result(key=item.key, error=error)

    def _failed(self, error: NotifyError) -> Iterator[Result]:
        yield from self._collect()
        self.drop()
        final = isinstance(error, PublishError | BrokerBlocked)
        if not final and time.monotonic() < self._give_up:
            time.sleep(_PAUSE)
            return
        items, self._pending = list(self._pending.values()), {}
        for item in items:
            yield Result(key=item.key, error=error)
