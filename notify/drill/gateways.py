"""The sandbox as the gateways of a drill: busy, cutting connections, closed, open again.

A second one may run beside it, for the spare providers: it has the same fates for the same
recipients, but nothing disturbs it.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from notify.drill.traffic import BUSY, RESET, Item, delays, refusal
from notify.sandbox import EVERYONE, Answer, Received, Sandbox

# So many answers before one delay for all: more than a drill sends between two outages.
_SCRIPTED: Final = 20_000


class Gateways:
    """Runs while entered. The same ports, and the same record, over a closure.

    ``spare`` is the record of the second sandbox; without it there is none.
    """

    def __init__(
        self, record: Path, items: Sequence[Item], seed: int, *, spare: Path | None = None
    ) -> None:
        self._record = record
        self._items = items
        self._delays = delays(seed)
        self._lock = threading.Lock()
        self._earlier: list[Received] = []
        self._open = False
        self._running = ExitStack()
        self.sandbox = Sandbox(record)
        self.spare = Sandbox(spare) if spare else None

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            self.sandbox.__enter__()
            self._open = True
            starting.callback(self.close)
            self._begin()
            if self.spare is not None:
                self._begin_spare(starting.enter_context(self.spare))
            self._running = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.close()

    def recover(self) -> None:
        """Everyone without a fate of their own is accepted, after a moment."""
        self._accept(self.sandbox)

    def _accept(self, sandbox: Sandbox) -> None:
        answers = [Answer(delay=delay) for delay in islice(self._delays, _SCRIPTED)]
        sandbox.script(EVERYONE, *answers, then=answers[0])

    def be_busy(self) -> None:
        self.sandbox.script(EVERYONE, then=BUSY)

    def take_nothing(self) -> None:
        """Busy for those with a fate of their own, too: all are answered at once."""
        for item, _ in self._fated():
            self.sandbox.script(item.address, then=BUSY)
        self.be_busy()

    def cut_connections(self) -> None:
        """Takes every request, and hangs up instead of answering."""
        self.sandbox.script(EVERYONE, then=RESET)

    def close(self) -> None:
        """Hangs up on whoever waits for an answer; new connections are refused."""
        if self._open:
            self._open = False
            self.sandbox.__exit__()

    def leave(self) -> None:
        """As ``close``, but whoever waits for an answer over HTTP gets it."""
        self.sandbox.drain()
        self.close()

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
        """Everything since the beginning: what the first received, then the spare."""
        with self._lock:
            first = [*self._earlier, *self.sandbox.received()]
        return first + (self.spare.received() if self.spare else [])

    def _begin(self) -> None:
        for item, delay in self._fated():
            answer = refusal(item, delay)
            if item.fate == "refused":
                self.sandbox.script(item.address, then=answer)
            elif not self._was_here(item):
                self.sandbox.script(item.address, BUSY, then=Answer(delay=delay))
        self.recover()

    def _begin_spare(self, spare: Sandbox) -> None:
        for item, delay in self._fated():
            if item.fate == "refused":
                spare.script(item.address, then=refusal(item, delay))
        self._accept(spare)

    def _fated(self) -> Iterator[tuple[Item, float]]:
        fated = (item for item in self._items if item.fate != "accepted")
        return zip(fated, self._delays, strict=False)

    def _was_here(self, item: Item) -> bool:
        """One that fails first has failed already."""
        return any(each.recipient == item.address for each in self._earlier)
