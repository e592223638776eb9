"""Private RabbitMQ and Redis servers for a demo, for tests and for development."""

from notify.local.offer import Servers, servers_from_environment
from notify.local.servers import PrivateServers

__all__ = ["PrivateServers", "Servers", "servers_from_environment"]
