"""Two workers, each with a share of a processor: so that these are not what is short."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from benching.brokers import purge
from benching.children import Child
from benching.deliveries import Place, deliver, fill
from benching.ours import READY
from benching.rounds import Contestant, alternate
from benching.shares import share
from benching.stage import QUEUE, Stage
from benching.values import Aim, Findings, Impossible, Run

# Two of them leave more than one of two processors to what they need.
SHARE: Final = 0.4
_NAMES: Final = {1: "one worker", 2: "two workers"}
# Of what perfect scaling would give.
_PART: Final = 0.9


def run(stage: Stage) -> Findings:
    """Raises ``Impossible`` where processes cannot be held to a share."""
    ours = stage.ours(concurrency=stage.sizes.threads)
    count = stage.sizes.delivered // 2

    def with_workers(workers: int) -> Callable[[int], Run]:
        def delivered(number: int) -> Run:
            purge(stage.url, QUEUE)
            with ours.client() as client:
                fill(client, count)
            with ExitStack() as shares:

                def start() -> list[Child]:
                    names = ["sms-normal", *(f"sms-normal.{n}" for n in range(2, workers + 1))]
                    prefix = f"workers-{workers}-{number}"
                    started: list[Child] = []
                    try:
                        for name in names:
                            started.append(ours.worker(name, prefix=prefix))
                            shares.enter_context(share(started[-1].pid, SHARE))
                    except Impossible:
                        for child in started:
                            child.kill()
                        raise
                    return started

                return deliver(stage, count, Place(url=stage.url), start, ready=READY)

        return delivered

    def name(workers: int) -> str:
        return f"notify, {_NAMES[workers]} with {SHARE:.0%} each"

    contestants = [Contestant(name=name(n), run=with_workers(n)) for n in _NAMES]
    aims = [Aim(of=name(n), to=name(1), least=_PART * n) for n in _NAMES if n > 1]
    return Findings(runs=alternate(contestants, stage.sizes.rounds), aims=tuple(aims))
