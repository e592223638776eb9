"""A gateway that takes 200 ms, beside the same one that answers at once."""

from collections.abc import Callable
from typing import Final

from benching.deliveries import Place, deliver, refill
from benching.gateway import FAST, SLOW
from benching.rounds import Contestant, alternate
from benching.stage import Stage
from benching.values import Aim, Findings, Run

INSTANT: Final = "notify, instant gateway"
DELAYED: Final = "notify, gateway takes 200 ms"


def run(stage: Stage) -> Findings:
    ours = stage.ours(concurrency=stage.sizes.many)
    count = stage.sizes.slow

    def at(kind: str) -> Callable[[int], Run]:
        def delivered(number: int) -> Run:
            refill(ours, stage.url, count)
            prefix, url = f"{kind}-{number}", stage.gateway.url(kind)
            return deliver(
                stage,
                count,
                Place(url=stage.url),
                lambda: [ours.worker(prefix=prefix, url=url)],
            )

        return delivered

    contestants = [
        Contestant(name=INSTANT, run=at(FAST)),
        Contestant(name=DELAYED, run=at(SLOW)),
    ]
    return Findings(
        runs=alternate(contestants, stage.sizes.rounds),
        aims=(Aim(of=DELAYED, to=INSTANT, least=0.9),),
    )
