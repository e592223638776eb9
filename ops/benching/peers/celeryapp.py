"""Hand-written Celery: a task that locks, posts, and retries, on a quorum queue.

It takes the same messages from the same queue as our worker, and so has the same durability.
"""

from typing import Any

import requests
from celery import Celery
from kombu.entity import Exchange, Queue
from redis.exceptions import LockError

from benching.peers import settings
from benching.peers.guarding import once
from benching.peers.requesting import post

QUEUE = "notify.sms.normal"

app = Celery("peer", broker=settings.told(settings.BROKER))
app.conf.update(
    broker_transport_options={"confirm_publish": bool(settings.told(settings.CONFIRM))},
    task_queues=[
        Queue(
            QUEUE,
            Exchange("notify", type="topic", no_declare=True),
            routing_key="sms.normal",
            queue_arguments={"x-queue-type": "quorum"},
            no_declare=True,
        )
    ],
    task_default_queue=QUEUE,
    task_default_exchange="notify",
    task_default_exchange_type="topic",
    task_default_routing_key="sms.normal",
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
)


@app.task(name="notify.deliver", bind=True, max_retries=3, acks_late=True)
def deliver(self: Any, notification: dict[str, Any]) -> None:
    try:
        once(notification["id"], lambda: post(notification))
    except (requests.RequestException, LockError) as error:
        raise self.retry(exc=error, countdown=5) from error
