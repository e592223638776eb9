"""What the AMQP libraries can do by themselves, with the very bytes and headers of our messages.

Each message is mandatory, persistent and confirmed, with up to 500 confirms outstanding, of which
each is tracked. The messages are made before the clock starts.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import amqp
import pika
from pika.adapters.select_connection import SelectConnection

from benching.brokers import connect
from benching.values import Broken

WINDOW: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Raw:
    """A message, and where it goes."""

    exchange: str
    routing_key: str
    body: bytes
    headers: dict[str, Any]
    properties: dict[str, Any]


def with_amqp(url: str, messages: Iterable[Raw]) -> None:
    """py-amqp. Raises ``Broken`` for a message that comes back or is not confirmed."""
    connection = connect(url)
    channel = connection.channel()
    channel.confirm_select()
    outstanding: dict[int, None] = {}
    problems: list[str] = []

    def confirmed(tag: int, multiple: bool) -> None:
        if not multiple:
            outstanding.pop(tag, None)
            return
        for known in [each for each in outstanding if each <= tag]:
            del outstanding[known]

    channel.events["basic_ack"].add(confirmed)
    channel.events["basic_nack"].add(lambda tag, _: problems.append(f"{tag} was refused"))
    channel.events["basic_return"].add(lambda *_: problems.append("one was returned"))
    for tag, raw in enumerate(messages, 1):
        message = amqp.Message(raw.body, application_headers=raw.headers, **raw.properties)
        channel.basic_publish(message, raw.exchange, raw.routing_key, mandatory=True)
        outstanding[tag] = None
        while len(outstanding) >= WINDOW and not problems:
            connection.drain_events(timeout=30)
    while outstanding and not problems:
        connection.drain_events(timeout=30)
    connection.close()
    if problems:
        raise Broken(problems[0])


class PikaRun:
    """pika's asynchronous connection, which alone can have many confirms outstanding."""

    def __init__(self, url: str, messages: Iterable[Raw]) -> None:
        self._left = deque(messages)
        self._outstanding: dict[int, None] = {}
        self._tag = 0
        self._problem = ""
        self._channel: Any = None
        self._connection: Any = SelectConnection(
            pika.URLParameters(url),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._opened),
            on_open_error_callback=lambda _, error: self._failed(f"no connection: {error}"),
            on_close_callback=lambda connection, _: connection.ioloop.stop(),
        )

    def run(self) -> None:
        self._connection.ioloop.start()
        if self._problem or self._left or self._outstanding:
            raise Broken(self._problem or "the connection was lost")

    def _opened(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_return_callback(lambda *_: self._failed("one was returned"))
        channel.confirm_delivery(self._confirmed, callback=lambda _: self._publish())

    def _failed(self, problem: str) -> None:
        self._problem = problem
        self._connection.ioloop.stop()

    def _publish(self) -> None:
        while self._left and len(self._outstanding) < WINDOW:
            raw = self._left.popleft()
            properties = pika.BasicProperties(headers=raw.headers, **raw.properties)
            self._channel.basic_publish(
                raw.exchange, raw.routing_key, raw.body, properties, mandatory=True
            )
            self._tag += 1
            self._outstanding[self._tag] = None

    def _confirmed(self, frame: Any) -> None:
        if isinstance(frame.method, pika.spec.Basic.Nack):
            self._failed(f"{frame.method.delivery_tag} was refused")
            return
        if frame.method.multiple:
            for tag in [each for each in self._outstanding if each <= frame.method.delivery_tag]:
                del self._outstanding[tag]
        else:
            self._outstanding.pop(frame.method.delivery_tag, None)
        self._publish()
        if not self._left and not self._outstanding:
            self._connection.close()


def with_pika(url: str, messages: Iterable[Raw]) -> None:
    """Raises ``Broken`` for a message that comes back or is not confirmed."""
    PikaRun(url, messages).run()
