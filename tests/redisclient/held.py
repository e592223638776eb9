"""A line whose first exchange is held up, so that others have to wait for it."""

import threading
from types import TracebackType
from typing import Any, Self

from notify.redisclient import Line, Question


class Held:
    """``counts`` and ``packed`` are what each exchange asked."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._busy, self._going = threading.Event(), threading.Event()
        self.counts: list[int] = []
        self.packed: list[bytes] = []

    def __enter__(self) -> Self:
        self._line.ask(Question(("PING",)))
        wire = self._line._crew.wire
        assert wire is not None
        self._wire, self._plain = wire, wire.exchange
        wire.exchange = self._exchange  # type: ignore[method-assign]
        return self

    def _exchange(self, packed: bytes, count: int) -> list[Any]:
        self.counts.append(count)
        self.packed.append(packed)
        self._busy.set()
        assert self._going.wait(20)
        return self._plain(packed, count)

    def until_busy(self) -> None:
        assert self._busy.wait(20)

    def let_go(self) -> None:
        self._going.set()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._going.set()
        self._wire.exchange = self._plain  # type: ignore[method-assign]
