"""How long to wait before the next try."""

import random
from collections.abc import Callable
from typing import Final, Protocol


class Stop(Protocol):
    """What of ``threading.Event`` is used to be told to stop."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float) -> bool: ...


FIRST: Final = 0.5
CAP: Final = 10.0
_SPREAD: Final = 0.2


class Pauses:
    """Half a second, doubled up to ten seconds, spread so that many do not come at once."""

    def __init__(self, uniform: Callable[[float, float], float] = random.uniform) -> None:
        self._uniform = uniform
        self._next = FIRST

    def next(self) -> float:
        pause, self._next = self._next, min(self._next * 2, CAP)
        return pause * self._uniform(1 - _SPREAD, 1 + _SPREAD)

    def reset(self) -> None:
        self._next = FIRST
