"""Celery's beat with RedBeat as it comes, set up for a quorum queue as their documentation says.

python -m benching.peers.redbeat confirm|plain
"""

import json
import os
import sys
from datetime import datetime
from typing import Any, Final

from celery import Celery
from celery.schedules import schedule
from kombu.entity import Exchange, Queue
from redbeat import RedBeatScheduler
from redbeat.decoder import RedBeatJSONEncoder

STOCK: Final = "stock"
PREFIX: Final = "stock:"
REDIS: Final = "STOCK_REDIS"
_BATCH: Final = 5000
_HOUR: Final = 3600


def stock_app(broker_url: str | None, *, confirm: bool = False, timeout: int = 600) -> Celery:
    app = Celery("stock", set_as_current=False)
    queue = Queue(
        STOCK,
        Exchange(STOCK, type="topic"),
        routing_key=STOCK,
        queue_arguments={"x-queue-type": "quorum"},
    )
    app.conf.update(
        broker_url=broker_url,
        broker_transport_options={"confirm_publish": confirm},
        task_queues=[queue],
        task_default_queue=STOCK,
        task_default_exchange_type="topic",
        task_ignore_result=True,
        result_backend=None,
        redbeat_redis_url=os.environ.get(REDIS, "redis://127.0.0.1:6379/0"),
        redbeat_key_prefix=PREFIX,
        redbeat_lock_timeout=timeout,
        redbeat_redis_options={"socket_timeout": 30},
        beat_max_loop_interval=1,
    )
    return app


def _entry(name: str, last: datetime) -> tuple[str, str]:
    definition = {
        "name": name,
        "task": "notify.deliver",
        "args": [],
        "kwargs": {"notification": json.dumps({"id": name, "body": f"Schedule {name} is due."})},
        "options": {"queue": STOCK},
        "schedule": schedule(run_every=float(_HOUR), app=stock_app(None)),
        "enabled": True,
    }
    meta = {"last_run_at": last, "total_run_count": 0}
    return json.dumps(definition, cls=RedBeatJSONEncoder), json.dumps(meta, cls=RedBeatJSONEncoder)


def store_stock(redis: Any, begin: int, end: int, last: datetime) -> None:
    """What ``RedBeatSchedulerEntry.save`` writes, many at once."""
    score = int(last.timestamp()) + _HOUR
    definition, meta = _entry("NAME", last)
    for start in range(begin, end, _BATCH):
        with redis.pipeline(transaction=False) as pipe:
            for n in range(start, min(start + _BATCH, end)):
                key = f"{PREFIX}q{n}"
                fields = {"definition": definition.replace("NAME", f"q{n}"), "meta": meta}
                pipe.hset(key, mapping=fields)
                pipe.zadd(f"{PREFIX}:schedule", {key: score})
            pipe.execute()


def main(confirm: str) -> None:
    from celery.beat import Service

    app = stock_app(os.environ["NOTIFY_BROKER_URLS"], confirm=confirm == "confirm")
    Service(app, max_interval=1, scheduler_cls=RedBeatScheduler).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
