"""Confirmed publishing: one by one, or many with a window of outstanding confirms."""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

from notify.broker.channel import summed, tell_untrusted
from notify.broker.confirming import ConfirmChannel
from notify.broker.sharing import SharedChannel
from notify.broker.window import Outgoing, Result, Window
from notify.errors import BrokerBlocked, BrokerUnavailable, BrokerUntrusted, Unconfirmed
from notify.message import Message

# A load balancer or firewall may have dropped an idle connection without a word.
_MAX_IDLE_SECONDS: Final = 30.0
_MAX_IDLE_CHANNELS: Final = 8
_NO_TIME: Final = "RabbitMQ: no time was left to connect"


class Publisher:
    """Publishes with confirms over connections of its own. Safe in threads and after fork.

    All threads share one connection to publish one by one; each ``publish_many`` has its own.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        connect_timeout: float = 3.0,
        confirm_timeout: float = 10.0,
        trusted: str | None = None,
    ) -> None:
        self._urls = tuple(urls)
        self._answered = self._urls[0] if self._urls else ""
        self._connect_timeout = connect_timeout
        self._confirm_timeout = confirm_timeout
        self._trusted = trusted
        # By process: sockets and locks belong to the one that made them.
        self._connections: dict[int, _Connections] = {}

    def publish(self, exchange: str, message: Message, *, timeout: float | None = None) -> None:
        """Returns when RabbitMQ has confirmed the message.

        ``timeout`` in seconds bounds everything, connecting included. A publish whose
        connection is lost is repeated within it. Raises ``Unroutable``, ``QueueFull``,
        ``Unconfirmed``, ``BrokerBlocked`` or ``BrokerUnavailable``.
        """
        deadline = time.monotonic() + (timeout or self._confirm_timeout)
        attempt = _Attempt()
        try:
            self._persist(exchange, message, deadline, attempt)
        except BrokerBlocked:
            raise
        except BrokerUnavailable as error:
            if attempt.written:
                raise Unconfirmed from error
            raise

    def _persist(
        self, exchange: str, message: Message, deadline: float, attempt: "_Attempt"
    ) -> None:
        try:
            self._publish_once(exchange, message, deadline, attempt)
            return
        except BrokerUnavailable as error:
            if isinstance(error, BrokerBlocked) or time.monotonic() >= deadline:
                raise
            first = error
        # It is said now, not only when the time is over.
        tell_untrusted([first])
        try:
            self._persevere(exchange, message, deadline, attempt)
        except BrokerUnavailable as last:
            if isinstance(last, BrokerBlocked) or not isinstance(first, BrokerUntrusted):
                raise
            # The last try may have had no time left to find out the same.
            raise summed([first, last]) from last

    def _persevere(
        self, exchange: str, message: Message, deadline: float, attempt: "_Attempt"
    ) -> None:
        retrying = Retrying(
            retry=retry_if_exception_type(BrokerUnavailable),
            stop=stop_before_delay(deadline - time.monotonic()),
            wait=wait_exponential(multiplier=0.05, max=1.0),
            reraise=True,
        )
        retrying(self._publish_once, exchange, message, deadline, attempt)

    def _publish_once(
        self, exchange: str, message: Message, deadline: float, attempt: "_Attempt"
    ) -> None:
        taken = False
        while not taken:
            publish = self._shared(deadline).publish(exchange, message, deadline)
            # A channel may be retired between the two.
            taken = publish.written
        attempt.written = True
        if publish.error is not None:
            raise publish.error

    def publish_many(
        self, items: Iterable[Outgoing], *, window: int = 500, timeout: float | None = None
    ) -> Iterator[Result]:
        """Publishes with up to ``window`` unconfirmed at once; yields one result for each.

        Results come in the order of the confirms. ``timeout`` in seconds bounds the wait
        for the next confirm, after which all that are outstanding are ``Unconfirmed``.
        """
        yield from Window(self, window, timeout or self._confirm_timeout).run(items)

    def close(self) -> None:
        mine = self._mine()
        with mine.lock:
            channels, mine.idle = mine.idle, []
        for channel in channels:
            channel.close()
        if mine.shared is not None:
            mine.shared.close()

    def _mine(self) -> "_Connections":
        pid = os.getpid()
        return self._connections.get(pid) or self._connections.setdefault(pid, _Connections())

    def _shared(self, deadline: float) -> SharedChannel:
        """The channel that all threads share. Raises ``BrokerUnavailable``."""
        mine, began = self._mine(), time.monotonic()
        if mine.shared is not None and mine.shared.usable(began - _MAX_IDLE_SECONDS):
            return mine.shared
        # One connects, the others wait for that.
        if not mine.connecting.acquire(timeout=max(0.0, deadline - began)):
            raise BrokerUnavailable(_NO_TIME)
        try:
            if mine.shared is not None and mine.shared.usable(began - _MAX_IDLE_SECONDS):
                return mine.shared
            if mine.failed > began:
                raise BrokerUnavailable(mine.why)
            mine.shared = SharedChannel(self._connect_for_all(mine, deadline))
            return mine.shared
        finally:
            mine.connecting.release()

    def _connect_for_all(self, mine: "_Connections", deadline: float) -> ConfirmChannel:
        try:
            return self._connect(deadline)
        except BrokerUnavailable as error:
            # Those who wait meanwhile need not try it one after another.
            mine.failed, mine.why = time.monotonic(), str(error)
            raise

    def acquire(self, deadline: float) -> ConfirmChannel:
        """An idle channel or a new one, for one thread. Raises ``BrokerUnavailable``."""
        channel = self._take_idle()
        return channel or self._connect(deadline)

    def _take_idle(self) -> ConfirmChannel | None:
        mine, oldest = self._mine(), time.monotonic() - _MAX_IDLE_SECONDS
        with mine.lock:
            while mine.idle:
                channel = mine.idle.pop()
                if channel.last_used >= oldest and channel.alive():
                    return channel
                channel.drop()
        return None

    def _connect(self, deadline: float) -> ConfirmChannel:
        failed: list[BrokerUnavailable] = []
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
                    trusted=self._trusted,
                )
            except BrokerUnavailable as error:
                failed.append(error)
            else:
                tell_untrusted(failed)
                self._answered = url
                return channel
        raise summed(failed or [BrokerUnavailable(_NO_TIME)])

    def release(self, channel: ConfirmChannel) -> None:
        """Gives back a channel on which nothing failed and nothing is outstanding."""
        channel.last_used = time.monotonic()
        mine = self._mine()
        with mine.lock:
            if len(mine.idle) < _MAX_IDLE_CHANNELS:
                mine.idle.append(channel)
                return
        channel.close()


class _Connections:
    """Those of one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[ConfirmChannel] = []
        self.connecting = threading.Lock()
        self.shared: SharedChannel | None = None
        self.failed = 0.0
        self.why = ""


class _Attempt:
    """Whether any part of a message may have reached the broker."""

    written = False
