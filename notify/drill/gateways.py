"""The sandbox as the gateways of a drill: busy, cutting connections, closed, open again."""

import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from notify.drill.traffic import BUSY, RESET, Item, delays, refusal
from notify.sandbox import EVERYONE, Answer, Received, Sandbox

# So many answers before one delay for all: more than a drill sends between two outages.
_SCRIPTED: Final = 20_000


class Gateways:
    """Runs while entered. The same ports, and the same record, over a closure."""

    def __init__(self, record: Path, items: Sequence[Item], seed: int) -> None:
        self._record = record
        self._items = items
        self._delays = delays(seed)
        self._lock = threading.Lock()
        self._earlier: list[Received] = []
        self._open = False
        self.sandbox = Sandbox(record)

    def __enter__(self) -> Self:
        self.sandbox.__enter__()
        self._open = True
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def recover(self) -> None:
        """Everyone without a fate of their own is accepted, after a moment."""
        answers = [Answer(delay=delay) for delay in islice(self._delays, _SCRIPTED)]
        self.sandbox.script(EVERYONE, *answers, then=answers[0])

    def be_busy(self) -> None:
        self.sandbox.script(EVERYONE, then=BUSY)

    def cut_connections(self) -> None:
        """Takes every request, and hangs up instead of answering."""
        self.sandbox.script(EVERYONE, then=RESET)

    def close(self) -> None:
        """Hangs up on whoever waits for an answer; new connections are refused."""
        if self._open:
            self._open = False
            self.sandbox.__exit__()

    def reopen(self) -> None:
        http_port = int(self.sandbox.http_url.rpartition(":")[2])
        again = Sandbox(self._record, http_port, self.sandbox.smtp_port)
        again.__enter__()
        with self._lock:
            self._earlier += self.sandbox.received()
            self.sandbox = again
        self._open = True
        self._begin()

    def received(self) -> list[Received]:
        """Everything since the beginning, in order of arrival."""
        with self._lock:
            return [*self._earlier, *self.sandbox.received()]

    def _begin(self) -> None:
        for item, delay in self._fated():
            answer = refusal(item, delay)
            if item.fate == "refused":
                self.sandbox.script(item.address, then=answer)
            elif not self._was_here(item):
                self.sandbox.script(item.address, BUSY, then=Answer(delay=delay))
        self.recover()

    def _fated(self) -> Iterator[tuple[Item, float]]:
        fated = (item for item in self._items if item.fate != "accepted")
        return zip(fated, self._delays, strict=False)

    def _was_here(self, item: Item) -> bool:
        """One that fails first has failed already."""
        return any(each.recipient == item.address for each in self._earlier)
