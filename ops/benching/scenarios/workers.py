"""Two workers, each with a share of a processor: so that these are not what is short."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Final

from benching.children import Child
from benching.deliveries import Place, deliver, refill
from benching.ours import READY
from benching.rounds import Contestant, alternate
from benching.shares import share
from benching.stage import Stage
from benching.values import Aim, Findings, Run

# Two of them leave more than one of two processors to what they need.
SHARE: Final = 0.4
_NAMES: Final = {1: "one worker", 2: "two workers"}
# Of what perfect scaling would give.
_PART: Final = 0.9


class Limited:
    """Workers that may use that share each."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._count = stage.sizes.delivered // 2
        self._ours = stage.ours(concurrency=stage.sizes.threads)

    def deliver(self, workers: int, number: int) -> Run:
        stage = self._stage
        refill(self._ours, stage.url, self._count)
        with ExitStack() as shares:
            start = partial(self._start, workers, f"workers-{workers}-{number}", shares)
            return deliver(stage, self._count, Place(url=stage.url), start, ready=READY)

    def _start(self, workers: int, prefix: str, shares: ExitStack) -> Iterator[Child]:
        for name in ["sms-normal", *(f"sms-normal.{n}" for n in range(2, workers + 1))]:
            child = self._ours.worker(name, prefix=prefix)
            # Whoever takes it ends it, also where it cannot be limited.
            yield child
            shares.enter_context(share(child.pid, SHARE))


def run(stage: Stage) -> Findings:
    """Raises ``Impossible`` where processes cannot be held to a share."""
    limited = Limited(stage)
    names = {n: f"notify, {words} with {SHARE:.0%} each" for n, words in _NAMES.items()}
    contestants = [Contestant(name=names[n], run=partial(limited.deliver, n)) for n in names]
    aims = [Aim(of=names[n], to=names[1], least=_PART * n) for n in names if n > 1]
    return Findings(runs=alternate(contestants, stage.sizes.rounds), aims=tuple(aims))
