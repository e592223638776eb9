"""A virtual host with our topology, seen as any AMQP client sees it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import amqp

from notify.broker import Outgoing, declare
from notify.broker.channel import connect, drop
from notify.message import Envelope, Message, encode
from notify.notification import Notification
from notify.topology import EXCHANGE, Topology, build, work_queue
from tests.deployment import sms
from tests.waiting import eventually

QUEUE = work_queue("sms", "normal")
PAIRS = [("sms", "normal"), ("email", "normal")]


class Rabbit:
    """Opens a connection for each operation, so that none outlives what a test does."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.topology: Topology = build(PAIRS, [1], 10)

    @contextmanager
    def channel(self) -> Iterator[Any]:
        connection = connect(self.url, connect_timeout=5, read_timeout=10)
        try:
            yield connection.connection.channel()
        finally:
            drop(connection)

    def declare(self) -> None:
        declare(self.topology, [self.url])

    def depth(self, queue: str = QUEUE) -> int:
        with self.channel() as channel:
            return int(channel.queue_declare(queue, passive=True).message_count)

    def take(self, count: int, queue: str = QUEUE) -> list[amqp.Message]:
        """All messages of a queue, which must become ``count``."""
        eventually(lambda: self.depth(queue) >= count, f"{count} messages in {queue}")
        return self.take_all(queue)

    def take_all(self, queue: str = QUEUE) -> list[amqp.Message]:
        """What is in the queue now, taken out of it."""
        found: list[amqp.Message] = []
        with self.channel() as channel:
            expected = channel.queue_declare(queue, passive=True).message_count
            channel.basic_consume(queue, no_ack=True, callback=found.append)
            while len(found) < expected:
                channel.connection.drain_events(timeout=10)
        return found

    def ids(self, count: int, queue: str = QUEUE) -> list[str]:
        return [message.properties["message_id"] for message in self.take(count, queue)]

    def small_queue(self, name: str = "small", length: int = 2) -> str:
        """An exchange of that name with a queue that refuses what is more than ``length``."""
        arguments = {
            "x-queue-type": "quorum",
            "x-max-length": length,
            "x-overflow": "reject-publish",
        }
        with self.channel() as channel:
            channel.exchange_declare(name, "fanout", durable=True, auto_delete=False)
            channel.queue_declare(name, durable=True, auto_delete=False, arguments=arguments)
            channel.queue_bind(name, name, "")
        return name


def message(notification: Notification | None = None, **values: Any) -> Message:
    envelope = Envelope(notification=notification or sms(), **values)
    return encode(envelope, now=datetime.now(UTC))


def outgoing(notification: Notification, exchange: str = EXCHANGE) -> Outgoing:
    return Outgoing(key=notification.id, exchange=exchange, message=message(notification))
