"""Nothing outlives the program that asked for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from notify.local import guard

from .watching import family, read_line, runs, survivors, wait_for

STUBBORN = """\
trap '' TERM
setsid sh -c 'trap "" TERM; while :; do sleep 60; done' &
while :; do sleep 60; done
"""


@contextmanager
def guarded(*command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait(20)


def test_the_exit_code_is_the_commands() -> None:
    with guarded("sh", "-c", "exit 7") as process:
        assert process.wait(10) == 7


def test_a_command_that_does_not_exist_is_named() -> None:
    with guarded("/nowhere/server") as process:
        assert process.wait(10) == 127
        assert process.stderr is not None
        assert "/nowhere/server: No such file" in process.stderr.read()


def test_it_reports_the_commands_own_pid() -> None:
    with guarded("sleep", "60") as process:
        pid = int(read_line(process))
        wait_for(lambda: "sleep" in Path(f"/proc/{pid}/cmdline").read_text(), "sleep is running")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_guard_stops_the_command(number: signal.Signals) -> None:
    with guarded("sleep", "60") as process:
        pid = int(read_line(process))
        process.send_signal(number)
        assert process.wait(4) == 128 + signal.SIGTERM
        assert not runs(pid)


def test_when_the_guard_is_killed_the_command_dies() -> None:
    with guarded("sleep", "60") as process:
        pid = int(read_line(process))
        process.kill()
        wait_for(lambda: not runs(pid), "the command is gone")


def test_what_the_command_leaves_behind_is_killed() -> None:
    with guarded("sh", "-c", "setsid sleep 60 & exit 3") as process:
        assert process.wait(10) == 3
        assert not family(process.pid)


def test_what_ignores_sigterm_is_killed_with_all_its_children() -> None:
    with guarded("sh", "-c", STUBBORN) as process:
        pid = int(read_line(process))
        wait_for(lambda: len(family(pid)) >= 3, "all children are running")
        everything = {pid, *family(pid)}
        assert process.stdin is not None
        process.stdin.close()
        wait_for(lambda: not survivors(everything), "all are gone", guard.GRACE + 5)


def test_a_guard_whose_parent_is_gone_already_stops_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, "1", "sleep", "60"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.wait(4) == 128 + signal.SIGTERM
