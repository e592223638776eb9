"""A message to ourselves through the consuming channel: the only proof that it consumes."""

import time
import uuid
from typing import Any

from celery import bootsteps
from kombu.common import ignore_errors
from kombu.entity import Queue
from kombu.messaging import Consumer

from notify.broker import Publisher
from notify.errors import NotifyError
from notify.message import Message
from notify.worker import sentinel


class Probe:
    """Sends probes and remembers when one came back last (``time.monotonic``)."""

    def __init__(self, publisher: Publisher, timeout: float) -> None:
        self._publisher = publisher
        self._timeout = timeout
        self.queue = ""
        self.consumer: Any = None
        self.returned = time.monotonic()

    def send(self) -> NotifyError | None:
        """Publishes a probe; what kept it from the broker, if anything did."""
        if not self.queue:
            return None
        message = Message(
            body=b"probe",
            headers={},
            properties={"content_type": "text/plain", "delivery_mode": 1},
            routing_key=self.queue,
        )
        try:
            self._publisher.publish("", message, timeout=self._timeout)
        except NotifyError as error:
            return error
        return None

    def reconnect(self) -> None:
        """Makes Celery see that its connection is gone, though nobody has said so."""
        if self.consumer is not None:
            self.consumer.cut_connections()

    def on_return(self, message: Any) -> None:
        self.returned = time.monotonic()


class ProbeStep(bootsteps.StartStopStep):
    """Consumes the probe queue on the channel that consumes the work queue.

    The queue has a new name for each connection: the broker may still hold the old one for a
    connection that it has not noticed to be gone.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        self._own: Any = None
        self._queue = ""
        self._sentinel: sentinel.Sentinel | None = None
        super().__init__(consumer, **options)

    def start(self, consumer: Any) -> None:
        probe: Probe = consumer.app.notify_probe
        queue = Queue(
            f"notify.probe.{uuid.uuid4().hex}", exclusive=True, durable=False, auto_delete=True
        )
        self._own = Consumer(
            consumer.connection.default_channel, [queue], on_message=probe.on_return, no_ack=True
        )
        self._own.consume()
        probe.queue, probe.consumer = queue.name, consumer
        self._start_sentinel(consumer)

    def _start_sentinel(self, consumer: Any) -> None:
        # While the worker is paused it consumes nothing, and Celery would not know the name.
        self._queue = self._queue or next(iter(consumer.app.amqp.queues.consume_from))
        if sentinel.is_needed(consumer.connection.connection):
            channel = consumer.connection.default_channel
            self._sentinel = sentinel.Sentinel(channel, self._queue, consumer.hostname)

    def register_with_event_loop(self, consumer: Any, hub: Any) -> None:
        if self._sentinel is not None:
            self._sentinel.watch(hub)

    def stop(self, consumer: Any) -> None:
        if self._sentinel is not None:
            old, self._sentinel = self._sentinel, None
            ignore_errors(consumer, old.remove)
        consumer.app.notify_probe.queue = ""
        if self._own is not None:
            own, self._own = self._own, None
            ignore_errors(consumer, own.cancel)

    shutdown = stop
