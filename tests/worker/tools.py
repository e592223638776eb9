"""Celery's own command line, as an operator uses it against our workers."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.deployment import ROOT, Deployment

WORKER = f"sms-normal@{socket.gethostname()}"
# Named, a worker's answer is not waited for longer than it takes.
TO_WORKER = ["--timeout=20", f"--destination={WORKER}"]


def celery(deployment: Deployment, *commands: Sequence[str]) -> list[tuple[int, str]]:
    """Runs commands side by side; each one's exit code and all that it printed."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "notify.app", *command],
            cwd=ROOT,
            env=deployment.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in commands
    ]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    return [(p.returncode, output) for p, output in zip(running, outputs, strict=True)]


@contextmanager
def flower(deployment: Deployment, port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    environ = deployment.environ | {"FLOWER_UNAUTHENTICATED_API": "1"}
    options = [f"--port={port}", "--address=127.0.0.1"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "notify.app", "flower", *options],
            cwd=ROOT,
            env=environ,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
