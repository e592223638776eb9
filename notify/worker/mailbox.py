"""Celery's remote control, over a queue that ends with its connection."""

from uuid import uuid4

from celery.app.control import Control as CeleryControl
from kombu.entity import Queue
from kombu.pidbox import Mailbox as KombuMailbox


class Mailbox(KombuMailbox):
    """Has a new queue for each connection.

    Celery's is one for each worker and lives on one node of RabbitMQ. When that node dies, the
    queue can be neither used nor declared again, and no worker of that name could connect to
    the nodes that are left.
    """

    def get_queue(self, hostname: str) -> Queue:
        return Queue(
            f"{hostname}.{uuid4().hex}.{self.namespace}.pidbox",
            exchange=self.exchange,
            durable=False,
            exclusive=True,
            auto_delete=True,
        )


class Control(CeleryControl):
    Mailbox = Mailbox
