"""Declares exchanges, queues and bindings over AMQP."""

from collections.abc import Sequence
from typing import Any

from amqp.exceptions import AMQPError

from notify.broker.channel import connect, drop, translated
from notify.errors import BrokerUnavailable, TopologyMismatch
from notify.topology import Topology


def declare(topology: Topology, urls: Sequence[str], *, timeout: float = 10.0) -> None:
    """Declares all of ``topology``; what exists already stays as it is.

    Raises ``TopologyMismatch`` naming what exists with other properties, and
    ``BrokerUnavailable`` where no broker of ``urls`` answers.
    """
    connection = _first(urls, timeout)
    try:
        channel = connection.connection.channel()
        for exchange in topology.exchanges:
            _declare_exchange(channel, exchange.name, exchange.type, exchange.arguments)
        for queue in topology.queues:
            _declare_queue(channel, queue.name, queue.arguments)
        with translated("cannot bind queues"):
            for binding in topology.bindings:
                channel.queue_bind(binding.queue, binding.exchange, binding.routing_key)
    finally:
        drop(connection)


def _first(urls: Sequence[str], timeout: float) -> Any:
    error: BrokerUnavailable | None = None
    for url in urls:
        try:
            return connect(url, connect_timeout=timeout, read_timeout=timeout)
        except BrokerUnavailable as failed:
            error = failed
    raise error or BrokerUnavailable("no broker URL is configured")


def _declare_exchange(channel: Any, name: str, kind: str, arguments: dict[str, Any]) -> None:
    try:
        channel.exchange_declare(name, kind, durable=True, auto_delete=False, arguments=arguments)
    except AMQPError as error:
        raise TopologyMismatch([f"exchange {name}: {error.reply_text}"]) from error


def _declare_queue(channel: Any, name: str, arguments: dict[str, Any]) -> None:
    try:
        channel.queue_declare(name, durable=True, auto_delete=False, arguments=arguments)
    except AMQPError as error:
        raise TopologyMismatch([f"queue {name}: {error.reply_text}"]) from error
