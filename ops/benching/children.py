"""Processes that are measured, or that work for what is measured."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benching.meters import family
from benching.values import Broken
from benching.waiting import until

ROOT: Final = Path(__file__).parents[2]
_TAIL: Final = 2000
_STOP_SECONDS: Final = 40.0
_LOOK_EVERY: Final = 1.0


class Child:
    """A running command whose output is kept."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        self.name = " ".join(command)
        self._log = log
        with log.open("wb") as output:
            self._popen = subprocess.Popen(
                list(command), env=dict(environ), stdout=output, stderr=output, cwd=ROOT
            )
        self._family: list[int] = []
        self._looked = -_LOOK_EVERY

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def pids(self) -> list[int]:
        """It and all below it, as of a moment ago: looking for them takes milliseconds."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._family, self._looked = family([self.pid]), now
        return self._family

    def text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def check(self) -> None:
        """Raises ``Broken`` when it has ended."""
        if self._popen.poll() is not None:
            raise Broken(f"{self.name} ended: {self.text()[-_TAIL:]}")

    def until_said(self, text: str, seconds: float = 60.0) -> None:
        def said() -> bool:
            found = text in self.text()
            if not found:
                self.check()
            return found

        until(said, f"{text!r} of {self.name}", seconds)

    def wait(self, seconds: float) -> None:
        """For an end with exit code 0. Raises ``Broken``."""
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken(f"{self.name}: still running after {seconds:.0f} s") from None
        if code:
            raise Broken(f"{self.name}: exit code {code}: {self.text()[-_TAIL:]}")

    def signal(self, number: signal.Signals) -> None:
        if self._popen.poll() is None:
            self._popen.send_signal(number)

    def end(self) -> None:
        """SIGTERM and, when that does not do, SIGKILL."""
        self.signal(signal.SIGTERM)
        try:
            self._popen.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        for pid in reversed(family([self.pid])[1:]):
            subprocess.run(["kill", "-KILL", str(pid)], check=False, stderr=subprocess.DEVNULL)
        self._popen.kill()
        self._popen.wait()


def program(name: str) -> str:
    """Where it is. Raises ``Broken`` where it is not installed."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise Broken(f"{name} is missing; run: ops/setup --tests")
    return found


def python(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


@contextmanager
def ending(children: Iterable[Child]) -> Iterator[list[Child]]:
    """All are asked to end, then waited for."""
    running: list[Child] = []
    try:
        for child in children:
            running.append(child)
        yield running
    finally:
        for child in running:
            child.signal(signal.SIGTERM)
        for child in running:
            child.end()
