"""An exchange that goes away with the work queue, and so tells that the queue is another one."""

from typing import Any, Final

_EVERY: Final = 5.0
# From this version on RabbitMQ cancels the consumer, which it did not always do before.
_CANCELS_SINCE: Final = 4


class Sentinel:
    """Ends the channel's connection when its queue was deleted, however briefly.

    Where a queue is deleted and declared again at once, RabbitMQ 3 says nothing: it moves the
    consumer to the new queue, and keeps back as many messages as it handed out of the old one.
    An auto-delete exchange ends with its last binding, and a binding with its queue. To ask for
    an exchange that is gone is an error that closes the channel, after which Celery connects
    again; to ask for one that is there costs one frame and no answer.
    """

    def __init__(self, channel: Any, queue: str, worker: str) -> None:
        # One for each worker: another's that connects again must not make this one's anew.
        self._name = f"notify.sentinel.{worker}"
        self._channel = channel
        self._timer: Any = None
        channel.exchange_declare(self._name, "fanout", durable=False, auto_delete=True)
        channel.queue_bind(queue, self._name)

    def watch(self, hub: Any) -> None:
        """Asks every few seconds until it is removed."""
        self._timer = hub.call_repeatedly(_EVERY, self._ask)

    def _ask(self) -> None:
        self._channel.exchange_declare(self._name, "fanout", passive=True, nowait=True)

    def remove(self) -> None:
        """To ask for it after that would end the connection, and with it what is in flight."""
        if self._timer is not None:
            self._timer.cancel()
        self._channel.exchange_delete(self._name, nowait=True)


def is_needed(connection: Any) -> bool:
    """``connection`` is py-amqp's."""
    version = str(connection.server_properties.get("version", ""))
    major = version.partition(".")[0]
    return major.isdigit() and int(major) < _CANCELS_SINCE
