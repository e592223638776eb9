"""A server as a child process behind a guard."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from notify.errors import Unavailable
from notify.local import guard

STOP_SECONDS = 15.0


class GuardedProcess:
    """One running command; ``pid`` is the command's own, not the guard's."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        cwd: Path,
        env: Mapping[str, str],
        held: Sequence[int] = (),
    ) -> None:
        """``held`` are descriptors that the guard, not the command, keeps open to its end."""
        self.log = log
        with log.open("wb") as output:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                cwd=cwd,
                env=dict(env),
                pass_fds=held,
                start_new_session=True,
            )
        try:
            self.pid = self._read_pid(command[0])
        except BaseException:
            self.abandon()
            raise

    def _read_pid(self, name: str) -> int:
        assert self._guard.stdout is not None
        with self._guard.stdout as report:
            line = report.readline()
        if not line:
            raise Unavailable(f"{name} could not be started; see {self.log}")
        return int(line)

    @property
    def guard_pid(self) -> int:
        return self._guard.pid

    def alive(self) -> bool:
        return self._guard.poll() is None

    def ask_to_stop(self) -> None:
        self._signal(signal.SIGTERM)

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Ask the command to end, wait for it, and kill what does not."""
        self.ask_to_stop()
        try:
            self._guard.wait(timeout)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._guard.wait()
        finally:
            self.abandon()

    def kill(self) -> None:
        """End it the way a crash would."""
        self._signal(signal.SIGKILL)
        self._guard.wait()
        self.abandon()

    def abandon(self) -> None:
        """Let go of the guard's pipe: it stops the command by itself, whatever we do next."""
        if self._guard.stdin is not None:
            with suppress(BrokenPipeError):
                self._guard.stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
