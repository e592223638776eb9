"""However the owner of private servers ends, no process and no port of theirs stays."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from notify.local import ports

from .watching import family, read_line, survivors, wait_for

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.slow]

OWNER = textwrap.dedent("""\
    import sys, threading
    from pathlib import Path
    from notify.local import PrivateServers

    servers = PrivateServers(Path(sys.argv[1]))
    with servers:
        print(servers.broker_pid, flush=True)
        threading.Event().wait()
    """)
DEADLINE = 12.0


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def processes_of(owner: subprocess.Popen[str]) -> set[int]:
    """Once the servers are ready: their guards and all below, after a look at who is there."""
    assert int(read_line(owner))
    found = family(owner.pid)
    commands = " ".join(survivors(found))
    for name in ("guard.py", "beam.smp", "erl_child_setup", "inet_gethost", "epmd", "redis"):
        assert name in commands
    return found


def assert_all_gone(processes: set[int], directory: Path) -> None:
    wait_for(lambda: not survivors(processes), f"end of {survivors(processes)}", DEADLINE)
    used = json.loads((directory / "servers.json").read_text())["ports"]
    wait_for(lambda: all(map(ports.is_free, used.values())), f"all free: {used}")


def test_a_killed_owner_takes_all_with_it(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    processes = processes_of(owner)
    owner.kill()
    assert_all_gone(processes, tmp_path)


def test_even_when_the_guards_are_killed_too(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    processes = processes_of(owner)
    owner.send_signal(signal.SIGSTOP)
    for guard in (pid for pid in processes if "guard.py" in " ".join(survivors([pid]))):
        os.kill(guard, signal.SIGKILL)
    owner.kill()
    assert_all_gone(processes, tmp_path)


def test_ctrl_c_stops_in_order(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    """The terminal sends it to the whole foreground process group."""
    processes = processes_of(owner)
    os.killpg(owner.pid, signal.SIGINT)
    _, errors = owner.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert not survivors(processes)
    assert "Redis is now ready to exit, bye bye" in (tmp_path / "redis/output.log").read_text()
    assert_all_gone(processes, tmp_path)
