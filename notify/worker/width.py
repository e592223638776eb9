"""How many threads may work at once, so that none only waits for Python's lock."""

import os
import time
from collections.abc import Callable, Collection
from typing import Final

# Of the time that passed. Where so much of it is spent computing, or waiting for a processor
# to compute on, another thread would only wait for the lock: two hundred threads that wait for
# each other need a quarter more time for each message than a dozen.
_FULL: Final = 0.85
_LEAST: Final = 8
# Seconds between two looks: to look at many threads takes longer.
_OFTEN: Final = 0.01
_SELDOM: Final = 0.1
_MANY: Final = 32


class Width:
    """Twice as many while the threads wait for others; fewer while they wait for each other.

    ``most`` is what is configured. ``cpu`` are the seconds of computing by this process, and
    ``delay`` those that one thread has waited for a processor.
    """

    def __init__(
        self,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
        delay: Callable[[int], float] | None = None,
    ) -> None:
        self._most = most
        self._least = min(_LEAST, most)
        self._clock = clock
        self._cpu = cpu
        self._delay = delay or run_delay
        self._since = self._computed = 0.0
        self._delays: dict[int, float] = {}
        self.value = self._least

    @property
    def next_look(self) -> float:
        """Seconds until then."""
        return _OFTEN if self.value <= _MANY else _SELDOM

    def begin(self, threads: Collection[int]) -> None:
        """Work waits, from now on, for one of these: the kernel's numbers."""
        self._since, self._computed = self._clock(), self._cpu()
        self._delays = {thread: self._delay(thread) for thread in threads}

    def look(self, threads: Collection[int]) -> int:
        """Work still waits: the new width."""
        since, computed, delays = self._since, self._computed, self._delays
        self.begin(threads)
        passed, spent = self._since - since, self._computed - computed
        spent += sum(self._delays[each] - delays[each] for each in self._delays.keys() & delays)
        if passed > 0 and spent / passed >= _FULL:
            self.value = max(self._least, self.value - max(1, self.value // 8))
        else:
            self.value = min(self._most, self.value * 2)
        return self.value


def run_delay(thread: int) -> float:
    """Linux's account, ``/proc/pid/schedstat`` in proc(5); nothing where it keeps none."""
    try:
        file = os.open(f"/proc/self/task/{thread}/schedstat", os.O_RDONLY)
    except OSError:
        return 0.0
    try:
        return int(os.read(file, 100).split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        # It has ended just now.
        return 0.0
    finally:
        os.close(file)
