"""What one notification costs with few and with very many queued."""

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from benching.brokers import depth, purge
from benching.children import Child, ending
from benching.comparing import digest, each_once
from benching.deliveries import SECONDS, fill
from benching.meters import cpu_seconds, memory_mb
from benching.rounds import Contestant, alternate
from benching.stage import QUEUE, Stage
from benching.values import Aim, Broken, Figure, Findings, Run
from benching.waiting import until
from benching.work import text

# The share of the sample after which it is measured.
WARM: Final = 0.2
# From the fewest to the most queued, a cost may grow by so much.
FLAT: Final = 1.1
COSTS: Final = (
    "RabbitMQ",
    "Redis",
    "memory of the worker",
    "Redis's memory",
    "RabbitMQ's memory",
)
_SPAN: Final = 0.5
_RESTING: Final = 0.1
_CALM_SECONDS: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class Used:
    """What was used when so many had been delivered."""

    hits: int
    worker: float
    rabbitmq: float
    redis: float
    redis_bytes: int

    @classmethod
    def now(cls, stage: Stage, hits: int, worker: Child) -> Self:
        return cls(
            hits=hits,
            worker=cpu_seconds(worker.pids),
            rabbitmq=cpu_seconds(stage.broker_pids),
            redis=cpu_seconds(stage.redis_pids),
            redis_bytes=int(stage.redis.info("memory")["used_memory"]),
        )


def run(stage: Stage) -> Findings:
    def with_queued(queued: int) -> Contestant:
        return Contestant(name=name_of(queued), run=lambda number: _round(stage, queued, number))

    scale = stage.sizes.scale
    runs = alternate([with_queued(queued) for queued in scale], stage.sizes.rounds)
    few, many = name_of(scale[0]), name_of(scale[-1])
    aims = [Aim(of=many, to=few, most=FLAT)]
    for cost in COSTS:
        aims.append(Aim(of=f"{many}: {cost}", to=f"{few}: {cost}", most=FLAT))
    aims.append(Aim(of=f"{many}: RabbitMQ's memory", less=f"{few}: RabbitMQ's memory"))
    return Findings(runs=runs, aims=tuple(aims))


def name_of(queued: int) -> str:
    return f"{queued:,} queued"


def _round(stage: Stage, queued: int, number: int) -> Run:
    """As many as are to be delivered while they wait come on top."""
    ours = stage.ours(concurrency=stage.sizes.threads)
    purge(stage.url, QUEUE)
    with ours.client() as client:
        fill(client, queued + stage.sizes.scale_sample, probes=0)
    _calm(stage)
    waiting = memory_mb(stage.broker_pids)
    first, last, memory = _sample(stage, ours.worker(prefix=f"scale-{queued}-{number}"))
    if not depth(stage.url, QUEUE):
        raise Broken(f"{name_of(queued)}: none were left while it was measured")
    purge(stage.url, QUEUE)
    return _run(first, last, memory, waiting)


def _calm(stage: Stage) -> None:
    """Until RabbitMQ has written away what was published: that is no cost of delivering."""

    def resting() -> bool:
        before = cpu_seconds(stage.broker_pids)
        time.sleep(_SPAN)
        return cpu_seconds(stage.broker_pids) - before < _SPAN * _RESTING

    with suppress(Broken):
        until(resting, "RabbitMQ rests", _CALM_SECONDS)


def _sample(stage: Stage, started: Child) -> tuple[Used, Used, float]:
    """What is used at two points on the way, and the worker's memory then."""
    watch, sample = stage.gateway.begin(), stage.sizes.scale_sample
    with ending([started]) as (worker,):

        def hits(count: float) -> bool:
            worker.check()
            return watch.count() >= count

        until(lambda: hits(sample * WARM), "hits at the gateway", SECONDS)
        first = Used.now(stage, watch.count(), worker)
        until(lambda: hits(first.hits + sample * (1 - WARM)), "hits at the gateway", SECONDS)
        last = Used.now(stage, watch.count(), worker)
        memory = memory_mb(worker.pids)
    seen = [hit.id for hit in watch.hits()]
    each_once(seen, set(seen), "at the gateway")
    return first, last, memory


def _run(first: Used, last: Used, memory: float, waiting: float) -> Run:
    count = last.hits - first.hits

    def each(name: str, before: float, after: float) -> Figure:
        return Figure(name=name, unit="µs each", value=(after - before) / count * 1e6)

    redis_bytes = (last.redis_bytes - first.redis_bytes) / count
    return Run(
        figures=(
            each("worker", first.worker, last.worker),
            each("RabbitMQ", first.rabbitmq, last.rabbitmq),
            each("Redis", first.redis, last.redis),
            Figure(name="memory of the worker", unit="MB", value=memory),
            Figure(name="RabbitMQ's memory", unit="MB", value=waiting),
            Figure(name="Redis's memory", unit="bytes each", value=redis_bytes),
        ),
        facts={
            "count": "a sample",
            "ids": "each once",
            "payload": digest([str(text("id").to_dict())]),
            "counted at": "the gateway",
        },
    )
