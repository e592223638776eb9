"""Schedules beside stock RedBeat, and the archive: programs of their own, with their figures."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stdout
from typing import Final

from benching import archive as archiving
from benching import schedules as scheduling
from benching.brokers import purge
from benching.saying import say
from benching.scheduleplace import place
from benching.stage import DEAD, Stage
from benching.values import Aim, Figure, Findings, Run
from notify.store import Store

OURS: Final = "notify beat"
CONFIRMED: Final = "RedBeat, with confirms"
PLAIN: Final = "RedBeat, without confirms"
ARCHIVE: Final = "notify, SQLite"
_NAMES: Final = {"ours": OURS, "confirm": CONFIRMED, "plain": PLAIN}
_SEARCHED: Final = "id, channel, reason, time"


def schedules(stage: Stage) -> Findings:
    """So many due in one second, each in its quorum queue, while very many are stored."""
    sizes = stage.sizes
    folder = stage.new_file("schedules")
    folder.mkdir()
    with redirect_stdout(sys.stderr), place(folder, stage.servers, sizes.ahead) as at:
        found = scheduling.measure(at, sizes.schedules, sizes.due, sizes.rounds)
        scheduling.forget(at)
    runs = {name: _bursts(found["burst"][key]) for key, name in _NAMES.items()}
    for key, name in (("ours", "notify"), ("stock", "RedBeat")):
        look = found["idle"][key][sizes.schedules]["median_ms"]
        figure = Figure(name="idle look", unit="ms", value=look)
        runs[f"{name}, a look at {sizes.schedules:,}"] = (Run(figures=(figure,)),)
    return Findings(runs=runs, aims=(Aim(of=OURS, to=CONFIRMED), Aim(of=OURS, to=PLAIN)))


def _bursts(rows: Sequence[Mapping[str, float]]) -> tuple[Run, ...]:
    return tuple(
        Run(
            figures=(
                Figure(name="rate", unit="a second", value=row["per_second"]),
                Figure(name="all due", unit="s", value=row["all_s"]),
                Figure(name="memory", unit="MB", value=row["memory_peak_mb"]),
            )
        )
        for row in rows
    )


def archive(stage: Stage) -> Findings:
    """Into SQLite directly, and through RabbitMQ and the archiver; and searches."""
    runs = tuple(_archive(stage) for _ in range(stage.sizes.rounds))
    return Findings(runs={ARCHIVE: runs})


def _archive(stage: Stage) -> Run:
    letters = stage.sizes.letters
    more = max(1, letters // 4)
    purge(stage.url, DEAD)
    url = f"sqlite:///{stage.new_file('archive.sqlite3')}"
    with closing(Store(url)) as store, redirect_stdout(sys.stderr):
        store.create()
        taken = archiving.take_in(store, 0, letters, letters)
        archived = archiving.archived(store, stage.url, letters, more)
        searched = archiving.search(store, letters)
    slowest = max(searched, key=lambda what: searched[what])
    say(f"  the slowest search: {slowest}")
    return Run(
        figures=(
            Figure(name="taken in", unit="a second", value=taken),
            Figure(name="by the archiver", unit="a second", value=archived),
            Figure(name=f"search by {_SEARCHED}", unit="ms", value=searched[_SEARCHED]),
            Figure(name="the slowest search", unit="ms", value=searched[slowest]),
        )
    )
