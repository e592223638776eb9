"""One limit, held by four workers with fifty threads each; counted at the gateway."""

import logging
import os
import time
from collections.abc import Callable

import pytest

from notify.publish import Client
from notify.sandbox import Received
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

log = logging.getLogger(__name__)

RATE = 50
# A minute's run is wanted when the numbers are wanted: NOTIFY_TEST_LIMIT_SECONDS=60.
SECONDS = float(os.environ.get("NOTIFY_TEST_LIMIT_SECONDS", "8"))
PROVIDER = """
[[providers]]
name = "texts"
type = "http-sms"
url = "${NOTIFY_SANDBOX_HTTP}/sms"
takes_idempotency_key = true
[providers.limits]
rate = "50/s"
"""


def ahead(arrivals: list[float]) -> float:
    """By how many the arrivals were ahead of the rate, at most, since the first of them."""
    return max(n - RATE * (at - arrivals[0]) for n, at in enumerate(arrivals))


@pytest.mark.timeout(300)
def test_four_workers_keep_one_limit_and_urgent_ones_do_not_wait(
    deploy: Callable[..., Deployment],
) -> None:
    deployment = deploy(providers={"sms": PROVIDER}, concurrency=50, deadline="10s", lease="30s")
    with Client(deployment.settings) as client:
        backlog = (sms(recipient="+491700000000") for _ in range(int(RATE * (SECONDS + 20))))
        assert all(sent.error is None for sent in client.send_many(backlog))
        workers = [deployment.start("worker", "sms", "normal") for _ in range(4)]
        deployment.worker("sms", "urgent")
        for worker in workers:
            deployment.until_logged(worker, '"event":"ready"')
        started = time.time()
        urgent = {}
        while time.time() < started + SECONDS:
            notification = sms(recipient="+491700000001", priority="urgent")
            urgent[notification.id] = time.time()
            client.send(notification)
            deployment.sandbox.wait_for(len(urgent), 20, recipient="+491700000001")
    received: list[Received] = eventually(lambda: deployment.sandbox.received(), "arrivals")
    arrivals = sorted(item.at for item in received if started <= item.at <= started + SECONDS)
    waits = sorted(item.at - urgent[item.id] for item in received if item.id in urgent)
    per_second, median = len(arrivals) / SECONDS, waits[len(waits) // 2]
    log.info(
        "%.2f a second; urgent ones waited %.3f s, at most %.3f", per_second, median, waits[-1]
    )
    # On a busy machine any arrives late, the first too, and those after it on time; none arrives
    # before its slot. (tests/limits/test_shared_rate.py looks at how far apart the slots are.)
    assert ahead(sorted(item.at for item in received)) <= RATE
    assert len(arrivals) <= 1.02 * RATE * SECONDS + RATE
    assert len(arrivals) >= 0.9 * RATE * SECONDS
    assert waits[-1] < 2
