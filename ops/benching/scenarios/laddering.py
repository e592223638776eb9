"""The delay ladder: into a rung and out of it, and a worker whose gateway fails."""

import time
from typing import Final

from benching.brokers import channel, purge, take_all, until_depth
from benching.comparing import digest, each_once
from benching.deliveries import Place, deliver, fill
from benching.gateway import FAIL
from benching.ours import Ours
from benching.publishing import Publishing, notification_of
from benching.rounds import Contestant, alternate
from benching.spread import middle_rate
from benching.stage import DEAD, QUEUE, Stage
from benching.values import Aim, Broken, Figure, Findings, Points, Run
from benching.work import ids

RUNG: Final = "through the rung of 5 s"
FAILING: Final = "notify, gateway fails"
# One retry soon, then the archive; the breaker would stop what is measured.
RETRIES: Final = {"first": '"5s"', "jitter": "0", "max_retries": "1", "enabled": "false"}
_SECONDS: Final = 300.0
_EVERY: Final = 0.02


def run(stage: Stage) -> Findings:
    ours = stage.ours(concurrency=stage.sizes.threads)
    publishing = Publishing(stage, ours)
    failing = stage.ours(concurrency=stage.sizes.threads, changes=RETRIES)
    rounds = stage.sizes.rounds
    through = Contestant(name=RUNG, run=lambda _: _through(stage, publishing))
    runs = alternate([through], rounds)
    runs |= alternate(
        [Contestant(name=FAILING, run=lambda number: _fail(stage, failing, number))], rounds
    )
    aims = (Aim(of=RUNG, least=5000), Aim(of=f"{RUNG}: out", least=5000), Aim(of=FAILING))
    return Findings(runs=runs, aims=aims)


def _through(stage: Stage, publishing: Publishing) -> Run:
    """Published with many confirms outstanding, then counted back in the work queue."""
    count = stage.sizes.ladder
    purge(stage.url, QUEUE)
    child = publishing.start("rung", count)
    growth = _watch(stage, count)
    told = publishing.told(child)
    taken = take_all(stage.url, QUEUE)
    found = [str(notification_of(each)["id"]) for each in taken]
    each_once(found, ids(count), "back from the rung")
    return Run(
        figures=(
            Figure(name="in", unit="a second", value=count / told["seconds"]),
            Figure(name="out", unit="a second", value=middle_rate(growth, count)),
            Figure(name="CPU", unit="µs each", value=told["cpu"] / count * 1e6),
        ),
        facts={
            "count": count,
            "ids": digest(sorted(found)),
            "payload": digest(sorted(each.body for each in taken)),
            "counted at": "the work queue",
        },
    )


def _watch(stage: Stage, count: int) -> Points:
    """How many are back, and when."""
    points: Points = []
    deadline = time.monotonic() + _SECONDS
    with channel(stage.url) as opened:
        while not points or points[-1][1] < count:
            if time.monotonic() > deadline:
                raise Broken(f"{points[-1][1]:.0f} of {count} came back from the rung")
            ready = int(opened.queue_declare(QUEUE, passive=True).message_count)
            points.append((time.monotonic(), float(ready)))
            time.sleep(_EVERY)
    return points


def _fail(stage: Stage, failing: Ours, number: int) -> Run:
    """Each is tried twice and then dead; all is settled and published before it is acknowledged."""
    count = stage.sizes.failing
    purge(stage.url, QUEUE, DEAD)
    with failing.client() as client:
        fill(client, count, probes=0)
    url, prefix = stage.gateway.url(FAIL), f"fail-{number}"
    run = deliver(
        stage,
        count,
        Place(url=stage.url),
        lambda: [failing.worker(prefix=prefix, url=url)],
        times=2,
    )
    until_depth(stage.url, DEAD, count)
    purge(stage.url, DEAD)
    return run
