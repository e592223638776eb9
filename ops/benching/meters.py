"""What processes use, from /proc: processor time and resident memory, children included."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benching.values import Points

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE_MB: Final = os.sysconf("SC_PAGE_SIZE") / 1e6
# Positions after the name in /proc/PID/stat (proc(5) counts from the pid, which is 1).
_PARENT, _USER, _SYSTEM, _PAGES = 1, 11, 12, 21


def _stat(pid: int) -> list[str] | None:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return None


def family(pids: Iterable[int]) -> list[int]:
    """These processes and all below them."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            children.setdefault(int(stat[_PARENT]), []).append(int(entry.name))
    found, left = [], list(pids)
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """Processor time that these processes, not their children, have used so far."""
    stats = (_stat(pid) for pid in pids)
    return sum(int(stat[_USER]) + int(stat[_SYSTEM]) for stat in stats if stat) / _TICKS


def memory_mb(pids: Iterable[int]) -> float:
    """Megabytes that are resident."""
    stats = (_stat(pid) for pid in pids)
    return sum(int(stat[_PAGES]) for stat in stats if stat) * _PAGE_MB


def machine_seconds() -> float:
    """Processor time that everything on this machine has used so far (proc(5), /proc/stat)."""
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, waiting = fields[3], fields[4]
    return (sum(fields) - idle - waiting) / _TICKS


class Sampler:
    """Reads a meter again and again beside what is measured."""

    def __init__(self, read: Callable[[], float], every: float) -> None:
        self.points: Points = []
        self._read = read
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def peak(self) -> float:
        return max((value for _, value in self.points), default=0.0)

    def _run(self) -> None:
        begun = time.monotonic()
        while True:
            self.points.append((time.monotonic() - begun, self._read()))
            if self._over.wait(self._every):
                return
