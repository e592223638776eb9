"""A worker over time: at full rate, and with nothing to do."""

import threading
import time
from typing import Final

from benching.brokers import channel, depth, purge
from benching.children import Child, ending
from benching.deliveries import SECONDS, fill
from benching.gateway import Watch
from benching.meters import Sampler, cpu_seconds, memory_mb
from benching.ours import READY, Ours
from benching.stage import QUEUE, Stage
from benching.values import Aim, Axes, Broken, Figure, Findings, Points, Run, Unlike
from benching.waiting import until
from benching.work import MEASURED

SOAKED: Final = "notify, one worker"
IDLE: Final = "notify, idle worker"
# The queue is kept so full.
_AHEAD: Final = 5_000
_CHUNK: Final = 1_000
# What a worker needs to come to rest after its start.
_REST: Final = 3.0
_SAMPLES: Final = 600


class Feeder:
    """Publishes what a worker takes, in a thread of its own, until it is told to stop."""

    def __init__(self, stage: Stage, ours: Ours) -> None:
        self.published = 0
        self.problem: BaseException | None = None
        self._stage = stage
        self._ours = ours
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Raises ``Broken`` where it could not publish."""
        self._over.set()
        self._thread.join()
        if self.problem is not None:
            raise Broken(f"publishing: {self.problem}") from self.problem

    def _run(self) -> None:
        try:
            self._feed()
        except Exception as problem:
            self.problem = problem

    def _feed(self) -> None:
        with self._ours.client() as client, channel(self._stage.url) as opened:
            while not self._over.is_set():
                if opened.queue_declare(QUEUE, passive=True).message_count < _AHEAD:
                    fill(client, _CHUNK, probes=0, first=self.published)
                    self.published += _CHUNK
                else:
                    self._over.wait(0.1)


def soak(stage: Stage) -> Findings:
    seconds = stage.sizes.soak_minutes * 60
    ours = stage.ours(concurrency=stage.sizes.threads)
    purge(stage.url, QUEUE)
    watch, feeder = stage.gateway.begin(), Feeder(stage, ours)
    feeder.start()
    with ending([ours.worker(prefix="soak")]) as (worker,):
        until(lambda: watch.count() >= _CHUNK // 2, "hits at the gateway", SECONDS)
        with Sampler(lambda: memory_mb(worker.pids), max(0.1, seconds / _SAMPLES)) as memory:
            before, begun = watch.count(), time.monotonic()
            _last(worker, seconds)
            rate = (watch.count() - before) / (time.monotonic() - begun)
        feeder.stop()
        until(lambda: watch.count() >= feeder.published, "the last ones", SECONDS, every=0.2)
    _check(watch, feeder.published)
    if left := depth(stage.url, QUEUE):
        raise Unlike(f"{QUEUE}: {left} were delivered and not acknowledged")
    return Findings(
        runs={SOAKED: (_soaked(memory.points, rate, feeder.published),)},
        aims=(Aim(of=f"{SOAKED}: at the end", to=f"{SOAKED}: after a tenth", most=1.1),),
        axes=Axes(title="Memory of a worker at full rate", x="seconds", y="MB"),
    )


def _last(worker: Child, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        worker.check()
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))


def _check(watch: Watch, published: int) -> None:
    """Each once; with a bit for each, as they may be millions."""
    seen, hits = bytearray(published), 0
    for hit in watch.hits():
        hits += 1
        seen[int(hit.id.removeprefix(MEASURED))] = 1
    if not hits == sum(seen) == published:
        raise Unlike(f"{hits} hits for {sum(seen)} of {published} ids at the gateway")


def _soaked(points: Points, rate: float, count: int) -> Run:
    early = points[len(points) // 10][1]
    return Run(
        figures=(
            Figure(name="rate", unit="a second", value=rate),
            Figure(name="after a tenth", unit="MB", value=early),
            Figure(name="at the end", unit="MB", value=points[-1][1]),
            Figure(name="delivered", unit="in all", value=count),
        ),
        curves={"memory": points},
    )


def idle(stage: Stage) -> Findings:
    ours = stage.ours(concurrency=stage.sizes.threads)
    purge(stage.url, QUEUE)
    runs = tuple(_idle(stage, ours, number) for number in range(stage.sizes.rounds))
    return Findings(
        runs={IDLE: runs},
        aims=(Aim(of=IDLE, most=90.0), Aim(of=f"{IDLE}: CPU", most=0.5)),
    )


def _idle(stage: Stage, ours: Ours, number: int) -> Run:
    with ending([ours.worker(prefix=f"idle-{number}")]) as (worker,):
        worker.until_said(READY)
        _last(worker, min(_REST, stage.sizes.idle_seconds))
        used, begun = cpu_seconds(worker.pids), time.monotonic()
        _last(worker, stage.sizes.idle_seconds)
        share = (cpu_seconds(worker.pids) - used) / (time.monotonic() - begun)
        memory = memory_mb(worker.pids)
    return Run(
        figures=(
            Figure(name="memory", unit="MB", value=memory),
            Figure(name="CPU", unit="% of one", value=share * 100),
        )
    )
