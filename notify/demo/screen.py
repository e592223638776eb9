"""What the demo shows: a story that grows, a live table below it, and the account."""

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from notify.notification import Notification
from notify.sandbox import Received

_NEWEST = 6


class Screen:
    """Writes to the terminal, or, with ``as_json``, one JSON document at the end."""

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._begun = time.monotonic()
        self._console = Console(quiet=as_json, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=10, transient=True)
        self._said: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """One line of the story, with the seconds since the start."""
        at = time.monotonic() - self._begun
        self._said.append({"at": round(at, 1), "text": text})
        topic, colon, rest = text.partition(":")
        line = Text.assemble((f"{at:5.1f} s  ", "dim"), (topic + colon, "bold"), rest)
        self._console.print(line)

    def show(
        self, published: Mapping[str, Notification], received: Sequence[Received], archived: int
    ) -> None:
        """Refreshes the table below the story."""
        self._live.update(
            Group(_newest(published, received), _totals(published, received, archived))
        )

    def finish(
        self,
        account: dict[str, Any],
        latencies: Sequence[dict[str, Any]],
        backoff: Sequence[dict[str, Any]],
    ) -> None:
        self._live.update(Text(""))
        if self._as_json:
            facts = {
                "account": account,
                "latencies": latencies,
                "backoff": backoff,
                "story": self._said,
                "seconds": round(time.monotonic() - self._begun, 1),
            }
            sys.stdout.write(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
            return
        self._console.print()
        self._console.print(_table("the gateway that was busy", backoff))
        self._console.print(_table("from publish to gateway, first attempts", latencies))
        self._console.print(_account(account))
        self._console.print("published = delivered (at the sandbox) + archived (still open)")


def _newest(published: Mapping[str, Notification], received: Sequence[Received]) -> Table:
    table = Table("", "", "", box=None, pad_edge=False, show_header=False)
    for item in [one for one in received if one.accepted][-_NEWEST:]:
        source = published.get(item.id)
        took = (item.at - source.created_at.timestamp()) * 1000 if source else 0
        table.add_row(item.channel, _excerpt(item.body or item.subject or ""), f"{took:.0f} ms")
    return table


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 48 else line[:47] + "…"


def _totals(
    published: Mapping[str, Notification], received: Sequence[Received], archived: int
) -> Text:
    answers = Counter(item.accepted for item in received)
    return Text(
        f"published {len(published)}   delivered {answers[True]}   "
        f"failed attempts {answers[False]}   in the archive {archived}",
        style="bold",
    )


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(
            name, justify="right" if name not in ("channel", "priority", "provider") else "left"
        )
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    return table


def _account(account: Mapping[str, Any]) -> Table:
    table = Table(title="the account", title_justify="left", title_style="bold", show_header=False)
    for name, value in account.items():
        good = "green" if value is True else "red" if value is False else ""
        words = {True: "yes", False: "NO"}.get(value, value) if isinstance(value, bool) else value
        table.add_row(name, Text(str(words), style=good))
    return table
