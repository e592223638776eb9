"""A worker that only looks alive ends; one that cannot help it waits and goes on."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from notify.broker import Depth, consumers
from notify.local import PrivateServers
from tests.broker.proxy import Proxy
from tests.deployment import Deployment, sms
from tests.waiting import eventually

QUEUE = "notify.sms.normal"
pytestmark = [pytest.mark.broker, pytest.mark.redis]

# The consumer is gone, and neither Celery nor the broker says so.
DEAF = """
from notify.cli import main
from notify.worker.consumer import Consumer

def loop_args(self, original=Consumer.loop_args):
    arguments = original(self)
    self.hub.call_later(6.0, lambda: self.task_consumer.cancel())
    return arguments

Consumer.loop_args = loop_args
main(["worker", "sms", "normal"])
"""

# The consuming channel swallows all that arrives, probes included.
DUMB = """
from notify.cli import main
from notify.worker import watch
from notify.worker.probe import Probe

watch._SILENCE = 5.0
Probe.on_return = lambda self, message: None
main(["worker", "sms", "normal"])
"""


def run_script(deployment: Deployment, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env=deployment.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_worker_that_takes_nothing_ends(deployment: Deployment) -> None:
    deployment.sandbox.script("*")
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], env=deployment.environ, stderr=subprocess.PIPE, text=True
    ) as worker:
        try:
            # Published when the consumer is gone: a message for it would be taken before.
            eventually(lambda: consumed(deployment), "a consumer")
            eventually(lambda: not consumed(deployment), "no consumer")
            notification = sms()
            deployment.send(notification)
            _, log = worker.communicate(timeout=60)
        finally:
            worker.kill()
    assert worker.returncode == 70
    assert "messages are ready and none is taken" in log
    deployment.worker()
    assert deployment.sandbox.wait_for(1, 20)[0].id == notification.id


def consumed(deployment: Deployment) -> bool:
    return bool(consumers([deployment.vhost_url], [QUEUE], timeout=5)[QUEUE])


def test_a_worker_whose_probes_do_not_come_back_ends(deployment: Deployment) -> None:
    done = run_script(deployment, DUMB)
    assert done.returncode == 70
    assert "no probe came back through the consuming channel" in done.stderr


def test_a_half_open_connection_is_replaced(deploy: Callable[..., Deployment]) -> None:
    """A firewall forgets the connection: nothing is said, and nothing comes any more.

    The broker may have handed the message to the dead connection: it comes back when the
    broker misses two heartbeats.
    """
    deployment = deploy(heartbeat=5)
    with Proxy(deployment.vhost_url) as proxy:
        deployment.environ["NOTIFY_BROKER_URLS"] = f"{proxy.url},{deployment.vhost_url}"
        worker = deployment.worker()
        proxy.pause()
        notification = sms()
        deployment.send(notification)
        received = deployment.sandbox.wait_for(1, 30)
        assert received[0].id == notification.id
        assert worker.popen.poll() is None
        assert "Warning" not in worker.text()


def test_a_frozen_broker_is_survived(deployment: Deployment, restartable: PrivateServers) -> None:
    worker = deployment.worker()
    pid = restartable.broker_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: not answers(deployment), "a broker that does not answer", 5)
        deployment.until_logged(worker, "Connection to broker lost", 60)
    finally:
        os.kill(pid, signal.SIGCONT)
    notification = sms()
    deployment.send(notification)
    assert deployment.sandbox.wait_for(1, 30)[0].id == notification.id
    assert worker.popen.poll() is None


def answers(deployment: Deployment) -> bool:
    depth = Depth([deployment.vhost_url], QUEUE, timeout=1)
    try:
        return depth.ready() is not None
    finally:
        depth.close()


def test_systemd_is_told_ready_status_and_that_it_is_alive(
    deployment: Deployment, tmp_path: Path
) -> None:
    address = tmp_path / "notify.socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(address))
        supervisor.settimeout(20)
        deployment.environ["NOTIFY_SOCKET"] = str(address)
        deployment.worker()
        said: set[bytes] = set()
        while not {b"READY=1", b"WATCHDOG=1", b"STATUS=consuming"} <= said:
            said |= set(supervisor.recv(4096).splitlines())
