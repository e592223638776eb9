"""RabbitMQ, asked directly: depths, and what is in a queue."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

import amqp
import requests
from amqp.serialization import dumps

from benching.values import Broken
from benching.waiting import until

_IDLE_SECONDS: Final = 10.0
# RabbitMQ puts back what a connection held that has ended.
_COMES_BACK: Final = 0.2


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A message that was in a queue."""

    body: bytes
    headers: dict[str, Any]
    properties: dict[str, Any]

    @property
    def header_bytes(self) -> int:
        return len(dumps("F", (self.headers,)))


def connect(url: str) -> amqp.Connection:
    """A connection as py-amqp comes."""
    parts = urlsplit(url)
    connection = amqp.Connection(
        host=f"{parts.hostname}:{parts.port}",
        userid=unquote(parts.username or "guest"),
        password=unquote(parts.password or "guest"),
        virtual_host=unquote(parts.path[1:]) or "/",
    )
    connection.connect()
    return connection


@contextmanager
def channel(url: str) -> Iterator[Any]:
    connection = connect(url)
    try:
        yield connection.channel()
    finally:
        connection.close()


def depth(url: str, queue: str) -> int:
    """Ready messages."""
    with channel(url) as opened:
        return int(opened.queue_declare(queue, passive=True).message_count)


def purge(url: str, *queues: str) -> None:
    """Empties them, of what a worker has just left unfinished, too."""
    with channel(url) as opened:
        while sum([int(opened.queue_purge(queue)) for queue in queues]):
            time.sleep(_COMES_BACK)


def until_depth(url: str, queue: str, count: int, seconds: float = 60.0) -> None:
    with channel(url) as opened:

        def there() -> bool:
            return int(opened.queue_declare(queue, passive=True).message_count) == count

        until(there, f"{count} messages in {queue}", seconds)


def take_all(url: str, queue: str) -> list[Taken]:
    """Empties a queue."""
    taken: list[Taken] = []
    connection = connect(url)
    try:
        opened = connection.channel()
        count = int(opened.queue_declare(queue, passive=True).message_count)
        opened.basic_qos(0, 1000, False)
        opened.basic_consume(queue, callback=lambda message: taken.append(_taken(message)))
        last = time.monotonic()
        while len(taken) < count:
            before = len(taken)
            try:
                connection.drain_events(timeout=1.0)
            except TimeoutError:
                if time.monotonic() - last > _IDLE_SECONDS:
                    raise Broken(f"{queue}: {len(taken)} of {count} messages came") from None
            if len(taken) > before:
                last = time.monotonic()
                if len(taken) % 500 == 0 or len(taken) == count:
                    opened.basic_ack(0, multiple=True)
    finally:
        connection.close()
    return taken


def _taken(message: Any) -> Taken:
    body = message.body
    properties = dict(message.properties)
    headers = properties.pop("application_headers", {})
    data = body.encode() if isinstance(body, str) else bytes(body)
    return Taken(body=data, headers=headers, properties=properties)


def queue_type(management_url: str, url: str, queue: str) -> str:
    """Of a queue as it is, whoever declared it."""
    vhost = quote(unquote(urlsplit(url).path[1:]), safe="")
    answer = requests.get(
        f"{management_url}/api/queues/{vhost}/{quote(queue, safe='')}", timeout=10
    )
    answer.raise_for_status()
    return str(answer.json()["arguments"].get("x-queue-type", "classic"))
