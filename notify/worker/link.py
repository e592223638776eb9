"""Celery's connections to RabbitMQ, which read much at once and write much at once.

py-amqp asks the socket three times for each frame, and a message is three frames. Here all
that has arrived is read in one piece, and the frames are taken from there.
"""

import socket
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

from kombu.transport import pyamqp

from notify.broker import encrypted
from notify.tasks import Verdict
from notify.worker.frames import Frames
from notify.worker.tags import Tags

_PIECE: Final = 65_536


class Channel(pyamqp.Channel):
    """Knows which of its deliveries are open, and settles many with one write."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.tags = Tags()
        super().__init__(*arguments, **options)

    def _on_basic_deliver(self, consumer_tag: str, delivery_tag: int, *rest: Any) -> None:
        silent: Any = self.no_ack_consumers
        if consumer_tag not in silent:
            self.tags.opened(delivery_tag)
        super()._on_basic_deliver(consumer_tag, delivery_tag, *rest)

    def basic_ack(self, delivery_tag: int, multiple: bool = False) -> Any:
        sent = super().basic_ack(delivery_tag, multiple)
        self.tags.closed(delivery_tag, multiple=multiple)
        return sent

    def basic_reject(self, delivery_tag: int, requeue: bool) -> Any:
        sent = super().basic_reject(delivery_tag, requeue)
        self.tags.closed(delivery_tag)
        return sent

    def _do_revive(self) -> None:
        # RabbitMQ has closed it, and takes back what it delivered; tags count from one again.
        self.tags = Tags()
        super()._do_revive()

    def settle(self, verdicts: Iterable[tuple[int, Verdict]]) -> bool:
        """Whether it could: RabbitMQ takes back what a lost connection has delivered."""
        connection = self.connection
        if connection is None or not connection.connected:
            return False
        frames = self.tags.frames(self.channel_id, verdicts)
        if not frames:
            return True
        try:
            connection.transport.write(frames)
        except OSError:
            # A part of it may have left: nothing more can be said here, and the loop notices.
            connection.cut()
            return False
        # It counts what it has sent to know when a heartbeat is due.
        connection.bytes_sent += 1
        return True


class Connection(encrypted.Connection):
    """Reads in large pieces, in the event loop and where it waits for an answer."""

    Channel = Channel

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._frames = Frames()
        self._hub: Any = None
        super().__init__(*arguments, **options)

    def Transport(self, *arguments: Any, **options: Any) -> Any:
        # Another socket: what was read from the one before is of no use.
        self._frames = Frames()
        return super().Transport(*arguments, **options)

    def watch(self, hub: Any) -> None:
        """From now on ``hub`` says when there is something to read."""
        self._hub = hub

    def cut(self) -> None:
        """It is lost, and whoever reads from it learns that."""
        self._transport.connected = False
        with suppress(OSError):
            self._transport.sock.shutdown(socket.SHUT_RDWR)

    def blocking_read(self, timeout: float | None = None) -> Any:
        """Takes one frame; what it means to py-amqp. Raises ``TimeoutError``."""
        while (frame := self._frames.next()) is None:
            self._fill(timeout)
        if self._hub is not None and self._frames.waiting:
            # No event will tell of what was read along with it.
            self._hub.call_soon(self._take)
        return self.on_inbound_frame(frame)

    def read_available(self) -> None:
        """Reads what has arrived, and takes all whole frames.

        A piece is larger than the largest record of TLS, so that nothing stays decrypted and
        unread, of which no event would tell.
        """
        with suppress(TimeoutError):
            self._fill(0)
            self._take()

    def _take(self) -> None:
        while self.connected and (frame := self._frames.next()) is not None:
            self.on_inbound_frame(frame)

    def _fill(self, timeout: float | None) -> None:
        """Raises ``TimeoutError`` when nothing has come in time, and ``OSError``."""
        transport = self.transport
        try:
            data = _receive(transport, timeout)
        except (TimeoutError, BlockingIOError, InterruptedError):
            raise TimeoutError from None
        except OSError:
            transport.connected = False
            raise
        if not data:
            transport.connected = False
            raise OSError("RabbitMQ closed the connection")
        self._frames.feed(data)


def _receive(transport: Any, timeout: float | None) -> Any:
    if timeout == 0 and not isinstance(transport.sock, ssl.SSLSocket):
        return transport.sock.recv(_PIECE, socket.MSG_DONTWAIT)
    with transport.having_timeout(timeout):
        return transport.sock.recv(_PIECE)


class Transport(encrypted.Transport):
    Connection = Connection

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        connection.watch(loop)
        super().register_with_event_loop(connection, loop)

    def on_readable(self, connection: Any, loop: Any) -> None:
        if not connection.connected:
            raise OSError("the connection to RabbitMQ is lost")
        connection.read_available()


class SSLTransport(Transport, encrypted.SSLTransport):
    """The same over TLS."""


class Link(encrypted.Broker):
    """What a worker of Celery connects with."""

    transports: ClassVar[Mapping[Any, Any]] = {
        pyamqp.Transport: Transport,
        pyamqp.SSLTransport: SSLTransport,
    }
