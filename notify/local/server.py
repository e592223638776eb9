"""One private server: what to run, and its life."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from notify.errors import Unavailable
from notify.local.diagnosis import explain
from notify.local.process import GuardedProcess

START_SECONDS = 60.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to run. ``answers`` tells whether the running server can be used."""

    name: str
    command: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]
    answers: Callable[[], bool]

    @property
    def log(self) -> Path:
        return self.directory / "output.log"


class Server:
    """A program that can be started, stopped, killed and started again."""

    def __init__(self, program: Program, *, lock: int) -> None:
        self.name = program.name
        self._program = program
        self._lock = lock
        self._process: GuardedProcess | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise Unavailable(f"{self.name} is not running")
        return self._process.pid

    def start(self) -> None:
        """Start it, without waiting."""
        if self._process is not None and self._process.alive():
            raise Unavailable(f"{self.name} is running already")
        program = self._program
        self._process = GuardedProcess(
            program.command,
            log=program.log,
            cwd=program.directory,
            env=program.environment,
            held=(self._lock,),
        )

    def wait_until_ready(self, timeout: float = START_SECONDS) -> None:
        deadline = time.monotonic() + timeout
        while not self._program.answers():
            self._check_alive()
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{self.name} does not answer after {timeout:.0f} s; see {self._program.log}"
                )
            time.sleep(POLL_SECONDS)
        self._check_alive()

    def ask_to_stop(self) -> None:
        if self._process is not None:
            self._process.ask_to_stop()

    def stop(self, *, kill: bool = False) -> None:
        """End it, in order or by SIGKILL, and wait for the end."""
        process, self._process = self._process, None
        if process is not None:
            process.kill() if kill else process.stop()

    def _check_alive(self) -> None:
        """What answers on our port could be somebody else's server."""
        if self._process is None or not self._process.alive():
            raise Unavailable(explain(self.name, self._program.log))
