"""RabbitMQ over AMQP: confirmed publishing, and declaring the topology."""

from notify.broker.declare import declare
from notify.broker.publisher import Outgoing, Publisher, Result

__all__ = ["Outgoing", "Publisher", "Result", "declare"]
