"""How far a batch is: a bar on a terminal, elsewhere a line every ten seconds."""

import sys
import time
from types import TracebackType
from typing import Final, Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_EVERY: Final = 10.0
_REDRAWN: Final = 0.2


class Bar:
    """On standard error. ``total`` None: nobody knows how many there are."""

    def __init__(self, title: str, total: int | None, done: int = 0) -> None:
        self._title = title
        self._total = total
        self._before = done
        self._begun = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f}/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}"),
            console=Console(stderr=True, highlight=False),
            disable=not self._terminal,
            transient=True,
        )
        self._task = self._progress.add_task(
            title, total=total, completed=done, rate=0.0, detail=""
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def due(self) -> bool:
        """Whether it is time to show something; asked often."""
        return time.monotonic() - self._shown >= (_REDRAWN if self._terminal else _EVERY)

    def show(self, done: int, detail: str = "") -> None:
        now = time.monotonic()
        self._shown = now
        rate = (done - self._before) / max(now - self._begun, 0.001)
        if self._terminal:
            self._progress.update(self._task, completed=done, rate=rate, detail=detail)
        else:
            click.echo(f"{self._title}: {self._line(done, rate, detail)}", err=True)

    def _line(self, done: int, rate: float, detail: str) -> str:
        of = f" of {self._total}" if self._total is not None else ""
        left = ""
        if self._total is not None and rate > 0:
            left = f", {duration((self._total - done) / rate)} remaining"
        return f"{done}{of}, {rate:,.0f}/s{left}{f'; {detail}' if detail else ''}"


def duration(seconds: float) -> str:
    """In words as short as they are exact enough."""
    whole = round(max(0.0, seconds))
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole / 60:.0f} min"
    return f"{whole / 3600:.1f} h" if whole < 172_800 else f"{whole / 86400:.1f} d"
