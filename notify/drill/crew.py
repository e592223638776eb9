"""The processes of a drill, started again when they end, as systemd would."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from notify.local.process import GuardedProcess

_LOOK_EVERY: Final = 0.2
# As RestartSec in the units, but shorter: this machine has nothing else to do.
_RESTART_AFTER: Final = 1.0


class Crew:
    """Runs the processes while entered. Each start has a log of its own."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        *,
        logs: Path,
        environ: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        self._commands = commands
        self._logs = logs
        self._environ = environ
        self._say = say
        self._lock = threading.Lock()
        self._running: dict[str, GuardedProcess] = {}
        self._starts = dict.fromkeys(commands, 0)
        self._due: dict[str, float] = {}
        self._leaving = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="drill-crew", daemon=True)
        self.ended_by_themselves: list[str] = []

    def __enter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        try:
            for name in self._commands:
                self._start(name)
        except BaseException:
            self._stop_all()
            raise
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving.set()
        self._watcher.join()
        self._stop_all()

    def kill(self, name: str) -> float:
        """SIGKILL, and a new process at once; returns when the old one was gone."""
        with self._lock:
            self._running[name].kill()
            gone = time.time()
            self._start(name)
        return gone

    def _start(self, name: str) -> None:
        self._starts[name] += 1
        self._due.pop(name, None)
        log = self._logs / f"{name}.{self._starts[name]:04d}.log"
        self._running[name] = GuardedProcess(
            self._commands[name], log=log, cwd=Path.cwd(), env=self._environ
        )

    def _watch(self) -> None:
        while not self._leaving.wait(_LOOK_EVERY):
            with self._lock:
                for name, process in self._running.items():
                    if not process.alive():
                        self._restart_when_due(name, process)

    def _restart_when_due(self, name: str, process: GuardedProcess) -> None:
        due = self._due.get(name)
        if due is None:
            self._due[name] = time.monotonic() + _RESTART_AFTER
            self.ended_by_themselves.append(process.log.name)
            self._say(f"{name}: ended by itself; see {process.log.name}")
        elif time.monotonic() >= due:
            process.abandon()
            self._start(name)

    def _stop_all(self) -> None:
        for process in self._running.values():
            process.ask_to_stop()
        for process in self._running.values():
            process.stop()
