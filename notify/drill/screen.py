"""What a drill shows: its events, how far it is, and the account."""

import json
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from notify.drill import settling
from notify.drill.report import account_lines, recovery_lines

_BARS = ("published", "delivered", "archived")


class Screen:
    """On a terminal: events above bars that grow. Elsewhere one line for each event.

    ``as_json``: the account is one JSON document on standard output, and all else goes to
    standard error.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._console = Console(stderr=as_json, highlight=False, soft_wrap=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._bars = {name: self._progress.add_task(name, total=None) for name in _BARS}

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

    def say(self, text: str) -> None:
        """One event, with the seconds since the start. From any thread."""
        topic, colon, rest = text.partition(":")
        with self._lock:
            at = time.monotonic() - self._begun
            self._console.print(
                Text.assemble((f"{at:6.1f} s  ", "dim"), (topic + colon, "bold"), rest)
            )

    def show(self, progress: settling.Progress) -> None:
        for name, bar in self._bars.items():
            done = getattr(progress, name)
            self._progress.update(bar, completed=done, total=progress.count)

    def finish(self, facts: dict[str, Any], saved: str) -> None:
        """The account of a drill in which things were broken."""
        self._end(facts, [_recovery(facts), _account(facts)], saved)

    def end(self, facts: dict[str, Any], lines: Sequence[tuple[str, str]], saved: str) -> None:
        """The account of any drill, a line for each of its facts."""
        self._end(facts, [_table(facts, lines)], saved)

    def _end(self, facts: dict[str, Any], tables: Sequence[Table], saved: str) -> None:
        self._progress.stop()
        if self._as_json:
            sys.stdout.write(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
            return
        self._console.print()
        for table in tables:
            self._console.print(table)
        for problem in facts["problems"]:
            self._console.print(Text(f"FAILED: {problem}", style="bold red"))
        if facts["passed"]:
            self._console.print(Text("passed", style="bold green"))
        self._console.print(f"the whole account: {saved}")


def _recovery(facts: dict[str, Any]) -> Table:
    table = Table(
        "fault", "times", "median s", "longest s", box=None, pad_edge=False, header_style="dim"
    )
    table.title, table.title_justify = "from the fault to the first delivery after it", "left"
    for row in recovery_lines(facts):
        table.add_row(*row)
    return table


def _account(facts: dict[str, Any]) -> Table:
    return _table(facts, account_lines(facts))


def _table(facts: dict[str, Any], lines: Sequence[tuple[str, str]]) -> Table:
    table = Table("", "", box=None, pad_edge=False, show_header=False)
    table.title = f"drill {facts['drill']} on RabbitMQ {facts['rabbitmq']}"
    table.title_justify = "left"
    for name, value in lines:
        table.add_row(name, value)
    return table
