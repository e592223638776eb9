"""Run one command that cannot outlive the program that asked for it.

    python -I -S guard.py PARENT_PID COMMAND...

A program of its own, on the standard library alone, so that it starts fast and still works
when the parent is gone. The parent holds the other end of standard input. When that closes,
or the parent's pid is no longer ours, or a signal asks for it, the command's process group
gets SIGTERM and, after a grace, everything below this process gets SIGKILL. If this guard is
killed, the kernel kills the command.

The guard does not ask the kernel to be told of its parent's death (PR_SET_PDEATHSIG): that
signal comes when the *thread* that forked ends, which a pool of threads does all the time.

Standard output carries one line, the command's pid; the command itself writes to what the
guard has as standard error.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

GRACE = 5.0
TICK = 0.5
STOPPING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def listen() -> int:
    """A descriptor on which the numbers of arriving signals can be read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOPPING):
        signal.signal(number, lambda *_: None)
    return reader


def keep_descriptors_from_children() -> None:
    """Our parent may have given us some to hold to our end, and not longer."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib starts slowly
        with suppress(OSError):
            os.set_inheritable(int(name), int(name) < 3)


def spawn(command: list[str]) -> int:
    """Start the command; back when it runs, so that no signal to it can be lost."""
    guard = os.getpid()
    running, closed_by_exec = os.pipe()
    child = os.fork()
    if child == 0:
        become(command, guard)
    os.close(closed_by_exec)
    os.read(running, 1)
    os.close(running)
    return child


def become(command: list[str], guard: int) -> None:
    """Turn this fork into the command; never returns."""
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == guard:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def ended(child: int) -> int | None:
    """Reap whatever has ended; the child's exit code if it is among them."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return os.waitstatus_to_exitcode(status)
            if pid == 0:
                return None
    return 127


def watch(child: int, parent: int, signals: int) -> int | None:
    """Wait for the child's exit code, or for a reason to stop it (None)."""
    while os.getppid() == parent:
        ready, _, _ = select.select([0, signals], [], [], TICK)
        if 0 in ready or (signals in ready and STOPPING.intersection(os.read(signals, 512))):
            return None
        code = ended(child)
        if code is not None:
            return code
    return None


def stop(child: int, signals: int) -> int:
    """End the child: politely, then not."""
    signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while (code := ended(child)) is None and (left := deadline - time.monotonic()) > 0:
        if select.select([signals], [], [], left)[0]:
            os.read(signals, 512)
    if code is None:
        signal_group(child, signal.SIGKILL)
    return -signal.SIGKILL if code is None else code


def signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, number)


def sweep() -> None:
    """Kill and reap all that is left below this process; orphans come to it to be reaped."""
    with suppress(ChildProcessError):
        while True:
            for pid in descendants(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def descendants(root: int) -> Iterator[int]:
    parents = dict(read_parents())
    known = {root}
    while found := {pid for pid, parent in parents.items() if parent in known} - known:
        known |= found
        yield from found


def read_parents() -> Iterator[tuple[int, int]]:
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - pathlib starts slowly
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
            yield int(name), int(stat.read().rpartition(b")")[2].split()[1])


def main(arguments: list[str]) -> int:
    parent, command = int(arguments[0]), arguments[1:]
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    keep_descriptors_from_children()
    signals = listen()
    child = spawn(command)
    os.write(1, f"{child}\n".encode())
    os.close(1)
    code = watch(child, parent, signals)
    if code is None:
        code = stop(child, signals)
    sweep()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
