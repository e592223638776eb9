"""Processes that may use a share of one processor and no more, by a control group of their own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benching.values import Impossible

_ROOT: Final = Path("/sys/fs/cgroup")
# As with CPUQuota= of systemd.
_PERIOD_US: Final = 100_000


@contextmanager
def share(pid: int, of_one: float) -> Iterator[None]:
    """Holds a process, with its threads, to that part of a processor.

    By the processor controller of control groups, version 2 (``cpu.max``) or 1
    (``cpu.cfs_quota_us``), which takes root. Raises ``Impossible`` where there is none.
    """
    parent = _ROOT if _has_v2() else _ROOT / "cpu"
    group = parent / f"notify-bench-{os.getpid()}-{pid}"
    quota = round(_PERIOD_US * of_one)
    v1 = {"cpu.cfs_period_us": f"{_PERIOD_US}", "cpu.cfs_quota_us": f"{quota}"}
    limits = v1 if parent != _ROOT else {"cpu.max": f"{quota} {_PERIOD_US}"}
    try:
        try:
            group.mkdir()
            for name, value in (limits | {"cgroup.procs": str(pid)}).items():
                (group / name).write_text(value)
        except OSError as error:
            raise Impossible(f"no share of a processor: {error}") from error
        yield
    finally:
        _remove(group)


def _has_v2() -> bool:
    """Whether groups below the root may use the processor controller of version 2."""
    file = _ROOT / "cgroup.subtree_control"
    return file.exists() and "cpu" in file.read_text().split()


def _remove(group: Path) -> None:
    """The process, where it is still there, goes on without the limit."""
    with suppress(FileNotFoundError):
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()
