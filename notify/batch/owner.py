"""Who runs a batch: a process, which is known to be gone when its machine can say so."""

import json
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from notify.store.batches import Batch

# For so long a process on another machine is believed to live after it last said so.
LEASE_SECONDS: Final = 60.0
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def this_process(run: str = "") -> str:
    """This process in a way that no other one has; ``run`` tells its runs from each other."""
    pid = os.getpid()
    who = {"host": socket.gethostname(), "pid": pid, "started": _started(pid), "run": run}
    return json.dumps(who | {"machine": _machine()})


def lives(batch: Batch) -> bool:
    """Whether the owner of a batch may still run."""
    who = _who(batch)
    if who.get("machine") and who["machine"] == _machine():
        started = _started(who["pid"])
        return started is not None and bool(started == who["started"])
    beat = batch.beat_at
    return beat is not None and (datetime.now(UTC) - beat).total_seconds() < LEASE_SECONDS


def where(batch: Batch) -> str:
    """Where a batch runs, in words."""
    who = _who(batch)
    return f"on {who.get('host', 'another host')}, process {who.get('pid', '?')}"


def _who(batch: Batch) -> dict[str, Any]:
    try:
        who = json.loads(batch.owner or "{}")
    except ValueError:
        return {}
    return who if isinstance(who, dict) else {}


def _machine() -> str:
    """Where process ids mean the same: one boot of one machine, one namespace."""
    space = _read(lambda: str(Path("/proc/self/ns/pid").readlink()))
    boot = _read(lambda: _BOOT.read_text(encoding="ascii").strip())
    return f"{boot} {space}" if boot and space else ""


def _started(pid: int) -> int | None:
    """When a process was started, in ticks since the boot; None where there is none."""
    stat = _read(lambda: Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))
    if stat is None:
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(rest[18])


def _read(read: Callable[[], str]) -> str | None:
    try:
        return read()
    except OSError:
        return None
