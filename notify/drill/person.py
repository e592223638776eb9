"""Somebody at the command line, with the runbook beside it."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from notify.errors import NotifyError
from notify.local.process import GuardedProcess
from notify.processes import notify

_PATIENCE: Final = 600.0


class Person:
    """Runs commands of ``notify`` as processes of their own."""

    def __init__(self, environ: Mapping[str, str], logs: Path) -> None:
        self._environ = environ
        self._logs = logs
        self._started = 0

    def asks(self, *arguments: str) -> Any:
        """What a command says as JSON. Raises ``NotifyError`` where it fails."""
        done = subprocess.run(
            notify(*arguments, "--json"),
            env=dict(self._environ),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        if done.returncode not in (0, 5):
            raise NotifyError(f"notify {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def starts(self, *arguments: str) -> GuardedProcess:
        """A command that runs on; its output is in a log."""
        self._started += 1
        log = self._logs / f"person.{self._started:04d}.log"
        return GuardedProcess(notify(*arguments), log=log, cwd=Path.cwd(), env=dict(self._environ))
