"""Publishing: the client beside Celery's ``apply_async`` and the AMQP libraries by themselves."""

import json
from collections.abc import Callable
from typing import Any, Final

from benching.brokers import Taken, purge, queue_type, take_all
from benching.comparing import digest, each_once
from benching.publishing import Publishing, notification_of
from benching.rounds import Contestant, alternate
from benching.stage import QUEUE, Stage
from benching.values import Aim, Facts, Figure, Findings, Run
from benching.work import ids

MANY: Final = "notify, send_many"
ONE: Final = "notify, send from 1 thread"
THREADS: Final = "notify, send from 32 threads"
CELERY: Final = "Celery, apply_async"
AMQP: Final = "py-amqp, window of 500"
PIKA: Final = "pika, window of 500"


def run(stage: Stage) -> Findings:
    publishing = Publishing(stage, stage.ours(concurrency=stage.sizes.threads))

    def publisher(kind: str, *, exact: bool = True) -> Callable[[int], Run]:
        return lambda _: _publish(stage, publishing, kind, exact=exact)

    contestants = [
        Contestant(name=MANY, run=publisher("ours-many")),
        Contestant(name=CELERY, run=publisher("celery", exact=False)),
        Contestant(name=AMQP, run=publisher("amqp")),
        Contestant(name=PIKA, run=publisher("pika")),
        Contestant(name=ONE, run=publisher("ours-one")),
        Contestant(name=THREADS, run=publisher("ours-threads")),
    ]
    runs = alternate(contestants, stage.sizes.rounds)
    aims = (
        Aim(of=MANY, to=CELERY, least=10.0),
        Aim(of=MANY, to=AMQP, least=0.5),
        Aim(of=MANY, to=PIKA),
        Aim(of=ONE, to=CELERY),
        Aim(of=THREADS, to=ONE),
    )
    return Findings(runs=runs, aims=aims)


def _publish(stage: Stage, publishing: Publishing, kind: str, *, exact: bool) -> Run:
    count = stage.sizes.published
    purge(stage.url, QUEUE)
    told = publishing.told(publishing.start(kind, count))
    taken = take_all(stage.url, QUEUE)
    facts = {**_facts(stage, taken, count), **(_exactly(taken) if exact else {})}
    return Run(
        figures=(
            Figure(name="rate", unit="a second", value=count / told["seconds"]),
            Figure(name="CPU", unit="µs each", value=told["cpu"] / count * 1e6),
        ),
        facts=facts,
    )


def _facts(stage: Stage, taken: list[Taken], count: int) -> dict[str, Any]:
    notifications = {str(each["id"]): each for each in map(notification_of, taken)}
    each_once((str(notification_of(each)["id"]) for each in taken), ids(count), "in the queue")
    ordered = [json.dumps(notifications[id], sort_keys=True) for id in sorted(notifications)]
    return {
        "count": count,
        "ids": digest(sorted(notifications)),
        "payload": digest(ordered),
        "counted at": "the queue",
        "queue": queue_type(stage.servers.management_url, stage.url, QUEUE),
        "persistent": all(each.properties.get("delivery_mode") == 2 for each in taken),
        # By how they publish: the broker does not tell afterwards.
        "confirmed": "each",
        "mandatory": True,
    }


def _exactly(taken: list[Taken]) -> Facts:
    """What those who publish the same bytes must have in common too."""
    names = sorted({name for each in taken for name in (*each.headers, *each.properties)})
    return {
        "bodies": digest(sorted(each.body for each in taken)),
        "headers": ", ".join(names),
        "bytes of headers": round(sum(each.header_bytes for each in taken) / len(taken)),
    }
