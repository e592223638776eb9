"""One connection with one channel in confirm mode that knows which publish was confirmed.

py-amqp takes any acknowledgement as the confirm of the latest publish, so a late one would
confirm the wrong message. Here each publish has its delivery tag, and a channel that failed
once is never used again.
"""

import math
import select
import ssl
import time
from typing import Any, Final

from amqp.exceptions import ChannelError, NotFound, error_for_code
from amqp.serialization import loads

from notify.broker.channel import LOST, connect, drop, translated
from notify.broker.frames import ACK, CHANNEL_CLOSE, CONFIRM, NACK, Frame, Frames, split
from notify.errors import (
    BrokerBlocked,
    BrokerUnavailable,
    NotifyError,
    QueueFull,
    Unroutable,
)
from notify.message import Message

# What a socket that does not block says where it would have to.
_NOT_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_READ: Final = select.POLLIN
_READ_AND_WRITE: Final = select.POLLIN | select.POLLOUT
_AT_ONCE: Final = 65536
# What ``poll`` can count is bounded.
_LONGEST: Final = 3600.0
# For so long a channel is believed that a queue is full.
_REFUSED_FOR: Final = 1.0


class ConfirmChannel:
    """Publishes and matches confirms by delivery tag. For one thread at a time.

    The socket does not block: one write takes many messages and one read many confirms, and
    each wait has its own deadline. What is no confirm is left to py-amqp.
    """

    def __init__(
        self, url: str, *, connect_timeout: float, read_timeout: float, trusted: str | None = None
    ) -> None:
        self.opened = self.last_used = time.monotonic()
        self.blocked: str | None = None
        self.results: dict[str, NotifyError | None] = {}
        self._tags: dict[int, str] = {}
        self._returned: dict[str, str] = {}
        self._last_tag = 0
        self._unsent = bytearray()
        self._received = b""
        self._poll = select.poll()
        self._connection = connect(
            url,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            trusted=trusted,
            on_blocked=self._on_blocked,
            on_unblocked=self._on_unblocked,
        )
        self._socket = self._connection.transport.sock
        channel = self._open(connect_timeout)
        channel.events["basic_return"].add(self._on_return)
        self._frames = Frames(channel.channel_id, self._connection.frame_max)

    def _open(self, timeout: float) -> Any:
        try:
            with translated("cannot open a channel"):
                self._socket.settimeout(timeout)
                channel = self._connection.channel()
                channel.confirm_select()
                # From here on each wait has its own deadline.
                self._socket.settimeout(0)
        except BrokerUnavailable:
            self.drop()
            raise
        return channel

    @property
    def outstanding(self) -> int:
        return len(self._tags)

    @property
    def doubtful(self) -> bool:
        """Whether a refusal may come from the channel itself.

        RabbitMQ's side of a channel that was opened while a queue had no leader refuses all for
        that queue, for as long as the channel lives. Where the queue is full indeed, a new
        channel a second is not too many.
        """
        return time.monotonic() - self.opened > _REFUSED_FOR

    @property
    def unsent(self) -> int:
        """Bytes that no ``flush`` has sent yet."""
        return len(self._unsent)

    def put(self, exchange: str, message: Message) -> str:
        """Takes a message for the next ``flush``; returns the token of its result."""
        self.put_encoded(message.token, self.encode(exchange, message))
        return message.token

    def encode(self, exchange: str, message: Message) -> bytes:
        """What ``put_encoded`` takes; in any thread."""
        return self._frames.encode(exchange, message)

    def put_encoded(self, token: str, data: bytes) -> None:
        self._unsent += data
        self._last_tag += 1
        self._tags[self._last_tag] = token

    def flush(self) -> None:
        """Sends what the socket takes now. Raises ``BrokerUnavailable``."""
        unsent = self._unsent
        try:
            while unsent:
                del unsent[: self._socket.send(unsent)]
        except _NOT_NOW:
            return
        except LOST as error:
            raise _lost(error) from error

    def publish(self, exchange: str, message: Message) -> str:
        """Hands a message to the socket; returns the token under which its result appears."""
        token = self.put(exchange, message)
        self.flush()
        return token

    def wait(self, deadline: float) -> bool:
        """Sends and reads until something has come in; False when the time is over.

        ``deadline`` is in ``time.monotonic`` seconds. What has come in before counts, though
        nobody looked until it was over.
        """
        while True:
            self.flush()
            remaining = deadline - time.monotonic()
            if self.ready(max(0.0, remaining)) and self.receive():
                return True
            if remaining <= 0:
                return False

    def ready(self, seconds: float) -> bool:
        """Waits at most so long until there is something to read, or room for what is unsent."""
        try:
            self._poll.register(self._socket, _READ_AND_WRITE if self._unsent else _READ)
        except ValueError:
            return True  # closed meanwhile: who reads is told
        return bool(self._poll.poll(math.ceil(min(seconds, _LONGEST) * 1000)))

    def receive(self) -> bool:
        """Reads what has come in; False where nothing has.

        Raises ``Unroutable`` where an exchange does not exist, and ``BrokerUnavailable``.
        """
        try:
            data = self._socket.recv(_AT_ONCE)
            if not data:
                raise ConnectionResetError
            frames, self._received = split(self._received + data)
            for frame in frames:
                if not self._on_own(frame):
                    self._connection.on_inbound_frame(frame)
        except _NOT_NOW:
            return False
        except NotFound as error:
            raise Unroutable(f"RabbitMQ: {error.reply_text}; declare the topology") from error
        except LOST as error:
            raise _lost(error) from error
        return True

    def late(self) -> NotifyError | None:
        """The error that explains why no confirm came, where it is known."""
        if self.blocked is None:
            return None
        return BrokerBlocked(f"RabbitMQ does not take messages: {self.blocked}")

    def alive(self) -> bool:
        """Reads what has come in meanwhile; False when the broker closed the connection."""
        try:
            while self.receive():
                pass
        except NotifyError:
            return False
        return True

    def drop(self) -> None:
        """Closes the socket without a word to the broker, which may not answer."""
        drop(self._connection)

    def close(self) -> None:
        """Says good-bye to the broker, and waits a second for its answer at most."""
        try:
            self._socket.settimeout(1.0)
            self._connection.close()
        except LOST:
            self.drop()

    def _on_own(self, frame: Frame) -> bool:
        """Confirms, and the end of the channel: py-amqp would open it again, and wait for it."""
        kind, _, payload = frame
        method = payload[:4] if kind == 1 else b""
        if method == CHANNEL_CLOSE:
            (code, text, *sender), _ = loads("BsBB", payload, 4)
            raise error_for_code(code, text, tuple(sender), ChannelError)
        if method not in (ACK, NACK):
            return False
        _, tag, multiple = CONFIRM.unpack(payload)
        tokens = self._settle(tag, bool(multiple & 1))
        if method == NACK:
            self.results.update((token, QueueFull()) for token in tokens)
        elif not self._returned:
            self.results.update(dict.fromkeys(tokens))
        else:
            self.results.update((token, self._answer(token)) for token in tokens)
        return True

    def _answer(self, token: str) -> NotifyError | None:
        text = self._returned.pop(token, None)
        return None if text is None else Unroutable(text)

    def _settle(self, tag: int, multiple: bool) -> list[str]:
        if not multiple:
            token = self._tags.pop(tag, None)
            return [] if token is None else [token]
        # Tags are inserted in ascending order, so the confirmed ones come first.
        tags = []
        for known in self._tags:
            if known > tag:
                break
            tags.append(known)
        return [self._tags.pop(known) for known in tags]

    def _on_return(self, _error: Any, exchange: str, routing_key: str, message: Any) -> None:
        # The broker returns a message before it acknowledges it.
        token = message.properties.get("correlation_id", "")
        self._returned[token] = f"no queue is bound to {exchange!r} for {routing_key!r}"

    def _on_blocked(self, reason: str) -> None:
        self.blocked = reason

    def _on_unblocked(self) -> None:
        self.blocked = None


def _lost(error: BaseException) -> BrokerUnavailable:
    return BrokerUnavailable(f"RabbitMQ: connection lost: {type(error).__name__}")
