"""A worker whose gate is closed: stopped, cut off, and opened again."""

import time
from urllib.parse import urlsplit

import pytest
import requests

from notify.topology import work_queue
from tests.deployment import Deployment, Process, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

QUEUE = work_queue("sms", "normal")


def closed(deployment: Deployment) -> Process:
    """A worker that has nobody to send with, and a backlog."""
    worker = deployment.worker()
    deployment.cli("providers", "disable", "sms", "texts")
    deployment.until_logged(worker, '"mode":"disabled"')
    deployment.send(*[sms(recipient=f"+4917000000{n:02}") for n in range(20)])
    deployment.until_logged(worker, '"event":"paused"')
    deployment.until_depth(QUEUE, 20)
    return worker


def test_it_stops_within_seconds(deployment: Deployment) -> None:
    worker = closed(deployment)
    stopped = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - stopped < 8
    assert deployment.ready() == 20


def test_after_a_lost_connection_it_stays_closed_and_then_takes_as_many_as_before(
    deployment: Deployment,
) -> None:
    worker = closed(deployment)
    cut(deployment)
    deployment.until_logged(worker, "Connection to broker lost")
    eventually(lambda: connections(deployment), "a new connection")
    time.sleep(3)
    assert deployment.ready() == 20
    deployment.cli("providers", "enable", "sms", "texts")
    deployment.sandbox.wait_for(20, 30)
    assert prefetch(deployment) == 4


def api(deployment: Deployment, path: str) -> str:
    vhost = urlsplit(deployment.vhost_url).path.strip("/")
    return f"{deployment.servers.management_url}/api/{path.format(vhost)}"


def connections(deployment: Deployment) -> list[str]:
    found = requests.get(api(deployment, "vhosts/{}/connections"), timeout=10).json()
    return [each["name"] for each in found]


def cut(deployment: Deployment) -> None:
    for name in eventually(lambda: connections(deployment), "connections known"):
        requests.delete(api(deployment, f"connections/{name}"), timeout=10)


def prefetch(deployment: Deployment) -> int:
    def known() -> int:
        every = requests.get(api(deployment, "consumers/{}"), timeout=10).json()
        return sum(each["prefetch_count"] for each in every if each["queue"]["name"] == QUEUE)

    return eventually(known, "a consumer")
