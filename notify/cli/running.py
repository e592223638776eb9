"""Runs a batch before somebody's eyes: with a bar, and an end that can be gone on from."""

import signal
from collections.abc import Callable
from typing import Any, TypeVar

from notify.batch import Engine, Progress
from notify.cli.bars import Bar

_T = TypeVar("_T")
Watch = Callable[[Progress], None]
Started = Callable[[Engine], None]


def run_watched(name: str, total: int | None, done: int, go: Callable[[Watch, Started], _T]) -> _T:
    """``go`` runs the batch, of which ``done`` rows were over before; what it returns."""
    with Bar(name, total, done) as bar:

        def watch(progress: Progress) -> None:
            if bar.due():
                channels = progress.published.items()
                detail = ", ".join(f"{channel} {number}" for channel, number in channels)
                bar.show(progress.sent + progress.rejected, detail)

        with _Signals() as signals:
            return go(watch, signals.stops)


class _Signals:
    """The first SIGINT or SIGTERM stops the engine, which takes a moment; the second ends all."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def stops(self, engine: Engine) -> None:
        def stop(number: int, _frame: Any) -> None:
            engine.stop()
            signal.signal(number, signal.default_int_handler)

        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, stop)

    def __enter__(self) -> "_Signals":
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
