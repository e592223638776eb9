"""Declares exchanges, queues and bindings over AMQP."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from amqp.exceptions import ChannelError

from notify.broker.channel import drop, first_that_answers, summed, tell_untrusted, translated
from notify.errors import BrokerUnavailable, TopologyMismatch
from notify.topology import Topology


def declare(
    topology: Topology, urls: Sequence[str], *, timeout: float = 10.0, trusted: str | None = None
) -> None:
    """Declares all of ``topology``; what exists already stays as it is.

    Raises ``TopologyMismatch`` naming what exists with other properties, and
    ``BrokerUnavailable`` where no broker of ``urls`` answers.
    """
    connection = first_that_answers(urls, timeout, trusted)
    try:
        with translated("connection lost while declaring"):
            _declare_all(connection.channel(), topology)
    finally:
        drop(connection)


def reach(urls: Sequence[str], *, timeout: float, trusted: str | None = None) -> tuple[str, ...]:
    """The same ``urls``, those last that were tried in vain before one let us in.

    A node that says nothing costs its whole timeout, and Celery begins with the first one.
    Raises ``BrokerUnavailable`` where none does.
    """
    failed: list[BrokerUnavailable] = []
    for position, url in enumerate(urls):
        try:
            drop(first_that_answers([url], timeout, trusted))
        except BrokerUnavailable as error:
            failed.append(error)
        else:
            tell_untrusted(failed)
            return (*urls[position:], *urls[:position])
    raise summed(failed)


def _declare_all(channel: Any, topology: Topology) -> None:
    for exchange in topology.exchanges:
        with _naming(f"exchange {exchange.name}"):
            channel.exchange_declare(
                exchange.name,
                exchange.type,
                durable=True,
                auto_delete=False,
                arguments=exchange.arguments,
            )
    for queue in topology.queues:
        with _naming(f"queue {queue.name}"):
            channel.queue_declare(
                queue.name, durable=True, auto_delete=False, arguments=queue.arguments
            )
    for binding in topology.bindings:
        channel.queue_bind(binding.queue, binding.exchange, binding.routing_key)


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Names what the broker refused; a lost connection is no refusal."""
    try:
        yield
    except ChannelError as error:
        raise TopologyMismatch([f"{what}: {error.reply_text}"]) from error
