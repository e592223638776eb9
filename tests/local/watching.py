"""Looking at processes and ports from outside."""

import re
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from notify.local import guard

LISTEN = "0A"


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def runs(pid: int) -> bool:
    """Whether the process exists; a zombie that nobody has reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] not in (b"Z", b"X")


def survivors(pids: Iterable[int]) -> list[str]:
    return [_command(pid) for pid in pids if runs(pid)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return f"pid {pid}"


def family(pid: int) -> set[int]:
    """All processes below this one."""
    return set(guard.descendants(pid))


def listening_addresses(pids: Iterable[int]) -> set[tuple[str, int]]:
    """Hexadecimal address and port of every TCP socket on which these processes listen."""
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and fields[9] in inodes:
                address, _, port = fields[1].partition(":")
                found.add((address, int(port, 16)))
    return found


def _sockets(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        # What was open a moment ago may be closed now.
        with suppress(FileNotFoundError):
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink())):
                found.add(match[1])
    return found


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()
