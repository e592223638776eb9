"""RabbitMQ over AMQP: confirmed publishing, and declaring the topology."""

from notify.broker.declare import declare, reach
from notify.broker.depth import Depth, consumers
from notify.broker.foreign import tolerate_foreign_properties
from notify.broker.publisher import Publisher
from notify.broker.window import Outgoing, Result

__all__ = [
    "Depth",
    "Outgoing",
    "Publisher",
    "Result",
    "consumers",
    "declare",
    "reach",
    "tolerate_foreign_properties",
]
