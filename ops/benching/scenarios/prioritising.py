"""Urgent ones while very many normal ones wait: how long from the call to the gateway."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benching.brokers import depth, purge
from benching.children import Child, ending
from benching.comparing import digest, each_once
from benching.deliveries import fill
from benching.gateway import Watch
from benching.ours import LIMITS, READY, Ours
from benching.saying import say
from benching.stage import QUEUE, URGENT, Stage
from benching.values import Aim, Axes, Broken, Figure, Findings, Points, Run
from benching.waiting import until
from benching.work import MEASURED, ids, text

IDLE: Final = "urgent, idle"
BUSY: Final = "urgent, normal at 70 %"
SHARED: Final = "urgent, both within a rate of 70 %"
SATURATED: Final = "urgent, normal saturated"
SHARE: Final = 0.7
WARM: Final = 100
KEYS: Final = "priority"
_PREFIX: Final = "urgent-"
_SECONDS: Final = 120.0


class Phases:
    """Each with workers of its own; what waits is the same, and gets less."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._next = 0
        self.capacity = 0.0

    def idle(self) -> Run:
        return self._phase(self._ours(LIMITS))

    def saturated(self) -> Run:
        ours = self._ours(LIMITS)
        run = self._phase(ours, ours)
        self.capacity = next(each.value for each in run.figures if each.name == "normal")
        return run

    def busy(self) -> Run:
        """Normal ones go through an account of their own, whose rate is that share."""
        return self._phase(self._ours(LIMITS), self._slowed(), prefix="priority-apart")

    def shared(self) -> Run:
        """The rate is the provider's, and both priorities': an urgent one has the next slot that
        no thread waits for yet."""
        ours = self._slowed()
        return self._phase(ours, ours)

    def _slowed(self) -> Ours:
        rate = max(1, round(self.capacity * SHARE))
        return self._ours({**LIMITS, "rate": f'"{rate}/s"'})

    def _ours(self, limits: dict[str, str]) -> Ours:
        return self._stage.ours(concurrency=self._stage.sizes.threads, limits=limits)

    def _phase(self, ours: Ours, normal: Ours | None = None, *, prefix: str = KEYS) -> Run:
        """``prefix`` is that of the keys of the worker for normal ones, and of its limits."""
        watch = self._stage.gateway.begin()
        with self._workers(ours, normal, prefix, watch):
            published = self._publish(ours)
            at = self._until_hit(watch, published)
        if normal and not depth(self._stage.url, QUEUE):
            raise Broken("no normal ones were left while urgent ones were measured")
        first, last = min(published.values()), max(at.values())
        others = sum(
            hit.id.startswith(MEASURED) and first <= hit.at <= last for hit in watch.hits()
        )
        waits = sorted((at[id] - published[id]) * 1000 for id in published)
        return _run(waits, others / max(last - first, 0.001))

    @contextmanager
    def _workers(
        self, ours: Ours, normal: Ours | None, prefix: str, watch: Watch
    ) -> Iterator[list[Child]]:
        started = [ours.worker("sms-urgent", prefix=KEYS)]
        if normal:
            started.append(normal.worker("sms-normal", prefix=prefix))
        with ending(started) as workers:
            for worker in workers:
                worker.until_said(READY)
            if normal:
                until(lambda: watch.count() >= WARM, "normal ones at the gateway", _SECONDS)
            yield workers

    def _publish(self, ours: Ours) -> dict[str, float]:
        """When the call of each began, whose instants do not depend on the answers."""
        sizes = self._stage.sizes
        count = round(sizes.urgent_rate * sizes.urgent_seconds)
        wanted = list(ids(count, _PREFIX, self._next))
        self._next += count
        published: dict[str, float] = {}
        with ours.client() as client:
            client.send(text(f"{_PREFIX}first-{self._next}", "urgent"))
            begun = time.monotonic()
            for number, id in enumerate(wanted):
                time.sleep(max(0.0, begun + number / sizes.urgent_rate - time.monotonic()))
                published[id] = time.time()
                client.send(text(id, "urgent"))
        return published

    def _until_hit(self, watch: Watch, published: dict[str, float]) -> dict[str, float]:
        """When each was at the gateway."""
        at: dict[str, float] = {}

        def all_there() -> bool:
            at.update((hit.id, hit.at) for hit in watch.hits() if hit.id in published)
            return len(at) >= len(published)

        until(all_there, "urgent ones at the gateway", _SECONDS, every=0.5)
        each_once(
            (hit.id for hit in watch.hits() if hit.id in published), published, "at the gateway"
        )
        return at


def _run(waits: list[float], normal: float) -> Run:
    p50, p95, p99 = (_quantile(waits, share) for share in (0.5, 0.95, 0.99))
    curve: Points = [(wait, (place + 1) / len(waits)) for place, wait in enumerate(waits)]
    return Run(
        figures=(
            Figure(name="p99", unit="ms", value=p99),
            Figure(name="p95", unit="ms", value=p95),
            Figure(name="p50", unit="ms", value=p50),
            Figure(name="normal", unit="a second", value=normal),
        ),
        facts={
            "count": len(waits),
            "ids": "each once",
            "payload": digest([str(text("id", "urgent").to_dict())]),
            "counted at": "the gateway",
        },
        curves={"waits": curve},
    )


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def run(stage: Stage) -> Findings:
    queued = stage.sizes.queued
    purge(stage.url, QUEUE, URGENT)
    phases = Phases(stage)
    say(f"  queueing {queued:,}")
    with stage.ours(concurrency=stage.sizes.threads).client() as client:
        fill(client, queued, probes=0)
    runs: dict[str, tuple[Run, ...]] = {}
    for name, phase in (
        (SATURATED, phases.saturated),
        (IDLE, phases.idle),
        (BUSY, phases.busy),
        (SHARED, phases.shared),
    ):
        runs[name] = (phase(),)
        say(
            f"  {name}: "
            + ", ".join(f"{f.name} {f.value:.1f} {f.unit}" for f in runs[name][0].figures)
        )
    purge(stage.url, QUEUE)
    return Findings(
        runs=runs,
        aims=(
            Aim(of=BUSY, to=IDLE, most=1.5),
            Aim(of=SATURATED, less=IDLE, most=100.0),
            # Whether it was the load that it should be.
            Aim(of=f"{BUSY}: normal", to=f"{SATURATED}: normal", least=0.6, most=0.8),
        ),
        axes=Axes(title="Urgent ones, from the call to the gateway", x="ms", y="share"),
    )
