"""The Celery application: settings, and ``app`` for the ``celery`` command and Flower.

    celery -A notify.app status
    celery -A notify.app inspect active

Workers are started by ``notify worker``, never by ``celery worker``.
"""

from collections.abc import Sequence
from typing import Any

from celery import Celery
from celery.app.amqp import AMQP
from kombu.entity import Exchange, Queue, binding

from notify import topology
from notify.broker.encrypted import Broker
from notify.config import Settings, load_settings

# A read or write on a broker connection that takes longer than this many seconds fails.
_SOCKET_TIMEOUT = 10


class Amqp(AMQP):
    """Celery's way to RabbitMQ, which makes sure that it is RabbitMQ."""

    Connection = Broker


def make_app(settings: Settings) -> Celery:
    """An application for ``settings``; the tasks are registered by ``notify.tasks``."""
    app = Celery("notify", set_as_current=False, fixups=[], amqp=Amqp)
    app.config_from_object(celery_settings(settings))
    return app


def celery_settings(settings: Settings) -> dict[str, Any]:
    """Celery's settings. Each is there because its default loses, repeats or stops something."""
    return (
        _BROKER
        | _TASKS
        | _WORKER
        | {
            "broker_url": ";".join(settings.broker.urls),
            "broker_heartbeat": settings.broker.heartbeat,
            "broker_transport_options": _TRANSPORT | {"trusted": settings.broker.ca_file},
            "broker_connection_timeout": settings.broker.connect_timeout,
            "task_queues": task_queues(settings.queues()),
        }
    )


def task_queues(pairs: Sequence[tuple[str, str]]) -> list[Queue]:
    """The work queues exactly as the topology has them, so that Celery may declare them too."""
    exchanges = {e.name: e for e in topology.build(pairs, [1], 1).exchanges}
    own, back = (_exchange(exchanges[n]) for n in (topology.EXCHANGE, topology.RETURN_EXCHANGE))
    arguments = {q.name: q.arguments for q in topology.build(pairs, [1], 1).queues}
    return [
        Queue(
            topology.work_queue(*pair),
            exchange=own,
            routing_key=".".join(pair),
            bindings=[binding(e, routing_key=".".join(pair)) for e in (own, back)],
            queue_arguments=arguments[topology.work_queue(*pair)],
        )
        for pair in pairs
    ]


def _exchange(exchange: topology.Exchange) -> Exchange:
    return Exchange(exchange.name, type=exchange.type, durable=True, arguments=exchange.arguments)


_TRANSPORT = {
    # Confirms on Celery's own connections would let an alarm stop the consumer; what must be
    # confirmed goes through notify.broker.
    "confirm_publish": False,
    "read_timeout": _SOCKET_TIMEOUT,
    "write_timeout": _SOCKET_TIMEOUT,
}
_BROKER = {
    "broker_connection_retry": True,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    # Without it a channel error (queue deleted, consumer timeout) ends the worker.
    "broker_channel_error_retry": True,
}
_TASKS = {
    "task_acks_late": True,
    "task_reject_on_worker_lost": True,
    # A failed task is dead-lettered, never acknowledged.
    "task_acks_on_failure": False,
    "task_acks_on_timeout": False,
    "task_create_missing_queues": False,
    "task_default_exchange": topology.EXCHANGE,
    "task_default_exchange_type": "topic",
    "task_ignore_result": True,
    "task_serializer": "json",
    "accept_content": ["json"],
    "result_backend": None,
    "enable_utc": True,
    "timezone": "UTC",
}
_WORKER = {
    "worker_consumer": "notify.worker.consumer:Consumer",
    "worker_prefetch_multiplier": 1,
    "worker_detect_quorum_queues": True,
    "worker_disable_rate_limits": True,
    # Threads cannot be cancelled; the ledger's claim keeps the redelivered copy from sending.
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    # The queue for the answers to "celery inspect" (a worker's own is in notify.worker.mailbox):
    # RabbitMQ 4.3 refuses one that is transient and not exclusive, so it is durable, and goes
    # away by itself.
    "control_queue_exclusive": False,
    "control_queue_durable": True,
    "control_queue_expires": 60.0,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_send_task_events": False,
}


def _configure(sender: Celery, **_: Any) -> None:
    sender.config_from_object(celery_settings(load_settings()))


# The configuration is read when it is first needed, not when this module is imported.
app = Celery("notify", set_as_current=False, fixups=[], include=["notify.tasks"], amqp=Amqp)
app.on_configure.connect(_configure, sender=app, weak=False)
