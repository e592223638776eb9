"""A virtual host with our topology, and hands to make things happen in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pika
import requests

from notify.message import Message
from notify.topology import DEAD, Topology, build
from tests.waiting import eventually

PAIRS = [("sms", "normal"), ("email", "urgent")]
LIMIT = 2


class Rabbit:
    """Opens a connection for each operation, so that none outlives what a test does."""

    def __init__(self, url: str, name: str, management_url: str) -> None:
        self.url = url
        self._vhost = quote(name, safe="")
        self._api = f"{management_url}/api"
        self.topology: Topology = build(PAIRS, [1], LIMIT)

    @contextmanager
    def channel(self) -> Iterator[Any]:
        with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            yield channel

    def declare(self) -> None:
        with self.channel() as channel:
            for exchange in self.topology.exchanges:
                channel.exchange_declare(
                    exchange.name, exchange.type, durable=True, arguments=exchange.arguments
                )
            for queue in self.topology.queues:
                channel.queue_declare(queue.name, durable=True, arguments=queue.arguments)
            for binding in self.topology.bindings:
                channel.queue_bind(binding.queue, binding.exchange, binding.routing_key)

    def limit_deliveries(self) -> None:
        """Before the queues are there: later it takes effect some time later."""
        for policy in self.topology.policies((3, 10)):
            answer = requests.put(
                f"{self._api}/policies/{self._vhost}/{policy.name}",
                json={"pattern": policy.pattern, "definition": policy.definition},
                timeout=10,
            )
            answer.raise_for_status()

    def publish(self, message: Message, exchange: str = "notify") -> None:
        self.publish_all([message], exchange)

    def publish_all(self, messages: Sequence[Message], exchange: str) -> None:
        """All without waiting for each; then until the broker has them."""
        with pika.BlockingConnection(pika.URLParameters(self.url)) as connection:
            channel = connection.channel()
            channel.tx_select()
            for message in messages:
                properties = pika.BasicProperties(headers=message.headers, **message.properties)
                channel.basic_publish(exchange, message.routing_key, message.body, properties)
            channel.tx_commit()

    def kill(self, messages: Sequence[Message]) -> None:
        """Puts messages into the queue of the dead."""
        self.publish_all(messages, DEAD)

    def take(self, *, requeue: bool, queue: str = "notify.sms.normal") -> None:
        """Rejects the next message of a work queue, which may be a moment away."""
        with self.channel() as channel:

            def rejected() -> bool:
                method, _, _ = channel.basic_get(queue)
                if method is not None:
                    channel.basic_reject(method.delivery_tag, requeue=requeue)
                return method is not None

            eventually(rejected, f"a message in {queue}")

    def ready(self, queue: str = DEAD) -> int:
        with self.channel() as channel:
            declared = channel.queue_declare(queue, passive=True)
            return int(declared.method.message_count)

    def consumers(self, queue: str = DEAD) -> int:
        with self.channel() as channel:
            return int(channel.queue_declare(queue, passive=True).method.consumer_count)

    def delete(self, queue: str = DEAD) -> None:
        with self.channel() as channel:
            channel.queue_delete(queue)
