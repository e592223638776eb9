"""Delivering: one worker process beside peers with as many threads, at the same gateway."""

from collections.abc import Sequence
from typing import Final

from benching.children import Child
from benching.deliveries import Place, deliver, follow, refill, run_of
from benching.ours import READY
from benching.peers.starting import Peers
from benching.rounds import Contestant, alternate
from benching.stage import Stage
from benching.values import Aim, Findings, Run
from benching.work import ids

OURS: Final = "notify, one worker"
TWO: Final = "notify, two workers"
CELERY: Final = "Celery, hand-written task"
DRAMATIQ: Final = "dramatiq, same task"
BARE: Final = "requests, sessions alone"
_SECONDS: Final = 60.0


class Deliveries:
    """Who delivers, each from a queue of its own."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._count = stage.sizes.delivered
        self._ours = stage.ours(concurrency=stage.sizes.threads)
        self._theirs = stage.ours(concurrency=stage.sizes.threads)
        self._theirs.environ["NOTIFY_BROKER_URLS"] = stage.peers_url
        self._peers = Peers(stage, self._ours)

    def one(self, number: int) -> Run:
        return self._deliver(number, ["sms-normal"])

    def two(self, number: int) -> Run:
        return self._deliver(number, ["sms-normal", "sms-normal.2"])

    def _deliver(self, number: int, workers: Sequence[str]) -> Run:
        stage, prefix = self._stage, f"deliver-{len(workers)}-{number}"
        refill(self._ours, stage.url, self._count)

        def start() -> list[Child]:
            return [self._ours.worker(name, prefix=prefix) for name in workers]

        return deliver(stage, self._count, Place(url=stage.url), start, ready=READY)

    def celery(self, number: int) -> Run:
        url = self._stage.peers_url
        refill(self._theirs, url, self._count)
        place = Place(url=url)
        prefix = f"celery-{number}"
        return deliver(self._stage, self._count, place, lambda: [self._peers.celery(prefix)])

    def dramatiq(self, number: int) -> Run:
        queue = self._peers.fill_dramatiq(self._count)
        place = Place(url=self._stage.peers_url, queue=queue)
        prefix = f"dramatiq-{number}"
        return deliver(self._stage, self._count, place, lambda: [self._peers.dramatiq(prefix)])

    def bare(self, _number: int) -> Run:
        watch = self._stage.gateway.begin()
        child = self._peers.bare()
        found = follow(watch, [child], self._count, ends=True)
        child.wait(_SECONDS)
        return run_of(found, watch.facts(ids(self._count)))


def run(stage: Stage) -> Findings:
    who = Deliveries(stage)
    contestants = [
        Contestant(name=OURS, run=who.one),
        Contestant(name=CELERY, run=who.celery),
        Contestant(name=DRAMATIQ, run=who.dramatiq),
        Contestant(name=BARE, run=who.bare),
        Contestant(name=TWO, run=who.two),
    ]
    aims = (
        Aim(of=OURS, to=CELERY, least=3.0),
        Aim(of=OURS, to=DRAMATIQ, least=2.0),
        Aim(of=OURS, to=BARE, least=0.7),
        Aim(of=TWO, to=OURS, least=1.8),
    )
    return Findings(runs=alternate(contestants, stage.sizes.rounds), aims=aims)
