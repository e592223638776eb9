"""One run of a worker, ours or a peer's: its queue is filled, it is started, and watched."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benching.brokers import depth, purge, queue_type
from benching.children import Child, ending
from benching.gateway import Watch, pace, steps
from benching.meters import Sampler, cpu_seconds, machine_seconds, memory_mb
from benching.ours import Ours
from benching.stage import QUEUE, Stage
from benching.values import Facts, Figure, Points, Run, Unlike
from benching.waiting import until
from benching.work import PROBES, ids, publish_all, texts
from notify import Client

SECONDS = 600.0
# Often enough, and little beside what is measured.
_SAMPLED = 0.5
_LOOK = 0.1


@dataclass(frozen=True, kw_only=True)
class Place:
    """The queue that a worker consumes."""

    url: str
    queue: str = QUEUE


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How the hits came."""

    rate: float
    cpu_us: float
    machine: float
    """Processors that were in use by anything."""
    peak_mb: float
    curve: Points


@dataclass(frozen=True, kw_only=True)
class Look:
    """What had been used when so many were at the gateway; times are in seconds."""

    hits: int
    at: float
    cpu: float
    machine: float


def fill(client: Client, count: int, probes: int = PROBES, first: int = 0) -> None:
    """The probes and as many as are measured. Raises ``Broken``."""
    publish_all(client, texts(count, probes, first))


def refill(ours: Ours, url: str, count: int) -> None:
    """The queue with nothing else in it. Raises ``Broken``."""
    purge(url, QUEUE)
    with ours.client() as client:
        fill(client, count)


def follow(
    watch: Watch,
    children: Sequence[Child],
    count: int,
    *,
    times: int = 1,
    ends: bool = False,
    ready: Callable[[], bool] = lambda: True,
) -> Pace:
    """Waits until so many ids were hit so many times; measures their first hits, between the first
    tenth, or the hit at which ``ready`` becomes true, and the last tenth.

    ``ends`` allows that a child is gone before its last hits are in the gateway's log.
    """
    used: list[Look] = []
    waiting = 0

    def over() -> bool:
        nonlocal waiting
        for child in () if ends else children:
            child.check()
        now = watch.count()
        cpu = cpu_seconds(_pids(children))
        used.append(Look(hits=now, at=time.monotonic(), cpu=cpu, machine=machine_seconds()))
        # The log lags by what nginx keeps to itself, at both ends alike.
        if waiting == len(used) - 1 and not ready():
            waiting = len(used)
        return now >= count * times

    with Sampler(lambda: memory_mb(_pids(children)), _SAMPLED) as memory:
        until(over, f"{count * times} hits at the gateway", SECONDS, every=_LOOK)
    high = count - count // 10
    low = max(count // 10, used[waiting - 1].hits if waiting else 0)
    # Where all was over before it was ready, it was too little to measure anyhow.
    low = low if low < high else count // 10
    times_of = first_hits(watch)
    first = next(each for each in used if each.hits >= low)
    last = next(each for each in used if each.hits >= high)
    return Pace(
        rate=pace(times_of, low, high),
        cpu_us=max(last.cpu - first.cpu, 0.0) / max(last.hits - first.hits, 1) * 1e6,
        machine=(last.machine - first.machine) / max(last.at - first.at, _LOOK),
        peak_mb=memory.peak,
        curve=steps(times_of),
    )


def first_hits(watch: Watch) -> list[float]:
    """When each id was hit first, in order."""
    found: dict[str, float] = {}
    for hit in watch.hits():
        found.setdefault(hit.id, hit.at)
    return sorted(found.values())


def _pids(children: Sequence[Child]) -> list[int]:
    return [pid for child in children for pid in child.pids]


def deliver(
    stage: Stage,
    count: int,
    place: Place,
    start: Callable[[], Iterable[Child]],
    *,
    times: int = 1,
    ready: str = "",
) -> Run:
    """What the gateway saw of workers whose queue is full. Raises ``Unlike``, ``Broken``.

    ``ready`` is what each of them says when it consumes: of several the last one counts.
    """
    watch = stage.gateway.begin()
    with ending(start()) as children:

        def all_ready() -> bool:
            return all(ready in child.text() for child in children)

        found = follow(watch, children, count, times=times, ready=all_ready)
    facts = {**watch.facts(ids(count), times), **_afterwards(stage, place)}
    return run_of(found, facts)


def _afterwards(stage: Stage, place: Place) -> Facts:
    """What only a worker with a queue has: all was acknowledged, in a queue of that type."""
    if left := depth(place.url, place.queue):
        raise Unlike(f"{place.queue}: {left} were delivered and not acknowledged")
    kind = queue_type(stage.servers.management_url, place.url, place.queue)
    return {"queue": kind, "acknowledged": True}


def run_of(found: Pace, facts: Facts) -> Run:
    return Run(
        figures=(
            Figure(name="rate", unit="a second", value=found.rate),
            Figure(name="CPU", unit="µs each", value=found.cpu_us),
            Figure(name="memory", unit="MB", value=found.peak_mb),
            Figure(name="machine", unit="processors", value=found.machine),
        ),
        facts=facts,
        curves={"hits": found.curve},
    )
