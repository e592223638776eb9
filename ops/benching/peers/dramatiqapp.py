"""Dramatiq with the same task, on a quorum queue."""

from collections.abc import Iterable, Iterator
from typing import Any

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker

from benching.peers import settings
from benching.peers.guarding import once
from benching.peers.requesting import post

QUEUE = "dramatiq"


class QuorumBroker(RabbitmqBroker):
    """Dramatiq declares classic queues; work is as durable as ours in quorum queues only."""

    def _build_queue_arguments(self, queue_name: str) -> dict[str, Any]:
        return {**super()._build_queue_arguments(queue_name), "x-queue-type": "quorum"}


broker = QuorumBroker(url=settings.told(settings.BROKER, "amqp://"), confirm_delivery=True)
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name=QUEUE, max_retries=3, min_backoff=5000)
def deliver(notification: dict[str, Any]) -> None:
    once(notification["id"], lambda: post(notification))


def declare() -> None:
    broker.declare_queue(QUEUE, ensure=True)
    broker.close()


def encoded(notifications: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """The messages that ``deliver.send`` would publish."""
    return (deliver.message(notification=each).encode() for each in notifications)
