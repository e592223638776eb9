"""Who comes first where the processors are short."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from notify.worker import yielding
from tests.deployment import Deployment, Process, sms

ROOT = Path(__file__).parents[2]


def nices(process: Process) -> set[int]:
    """Of all its threads: on Linux each has its own."""
    tasks = Path(f"/proc/{process.popen.pid}/task").iterdir()
    return {os.getpriority(os.PRIO_PROCESS, int(task.name)) for task in tasks}


@pytest.mark.broker
@pytest.mark.redis
@pytest.mark.parametrize(("priority", "more"), [("urgent", 0), ("normal", 10)])
def test_normal_ones_leave_the_processors_to_urgent_ones(
    deployment: Deployment, priority: str, more: int
) -> None:
    worker = deployment.worker(priority=priority)
    sent = sms(priority=priority)
    deployment.send(sent)
    deployment.until_sent(sent.id)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert nices(worker) == {max(own, more)}


@pytest.mark.broker
@pytest.mark.redis
def test_how_nice_can_be_configured(deploy: Callable[..., Deployment]) -> None:
    deployment = deploy()
    channel = deployment.directory / "config" / "channels" / "sms.toml"
    channel.write_text(channel.read_text().replace("[queues.urgent]", "[queues.urgent]\nnice = 19"))
    assert nices(deployment.worker(priority="urgent")) == {19}


def test_it_is_never_less_nice_than_it_was_started() -> None:
    code = (
        "import os; from notify.worker.yielding import yield_to_others;"
        "os.nice(7); yield_to_others(3); print(os.getpriority(os.PRIO_PROCESS, 0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == min(19, 7 + os.getpriority(os.PRIO_PROCESS, 0))


def test_where_it_is_forbidden_the_worker_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def forbidden(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "setpriority", forbidden)
    with caplog.at_level(logging.WARNING, logger=yielding.__name__):
        yielding.yield_to_others(19)
    assert [record.message for record in caplog.records] == ["cannot be nice"]
