"""A message in a process of its own waits, stops and is counted like any other."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from notify.message import Envelope
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

PROVIDER = """
[[providers]]
name = "texts"
type = "http-sms"
url = "${NOTIFY_SANDBOX_HTTP}/sms"
takes_idempotency_key = true
[providers.limits]
"""


def alone(**values: Any) -> Envelope:
    return Envelope(notification=sms(**values), first_queued=datetime.now(UTC), alone=True)


@pytest.mark.slow
def test_it_may_wait_long_for_its_turn_with_others_behind_it(
    deploy: Callable[..., Deployment],
) -> None:
    """Its worker is not idle meanwhile, and it is no poison."""
    limit = PROVIDER + 'rate = "48/h"\n'
    deployment = deploy(
        providers={"sms": limit}, concurrency=1, deadline="1s", lease="6s", give_up_after="10m"
    )
    worker = deployment.worker()
    first, patient = sms(), alone(recipient="+491700000000")
    deployment.send(first)
    deployment.until_sent(first.id)
    deployment.publish_raw(patient)
    deployment.send(*[sms(recipient="+491700000001") for _ in range(3)])
    sent = deployment.sandbox.wait_for(1, 100, recipient="+491700000000")
    assert sent[0].at - deployment.sandbox.received()[0].at > 65
    assert worker.popen.poll() is None
    assert deployment.until_sent(patient.notification.id).attempt == 1
    assert deployment.depth("notify.dead") == 0


def test_it_is_handed_back_when_its_worker_stops(deploy: Callable[..., Deployment]) -> None:
    limit = PROVIDER + 'rate = "6/h"\n'
    deployment = deploy(providers={"sms": limit}, concurrency=1)
    worker = deployment.worker()
    first, patient = sms(), alone(recipient="+491700000000")
    deployment.send(first)
    deployment.until_sent(first.id)
    deployment.publish_raw(patient)
    eventually(lambda: deployment.ready() == 0, "a message that is taken")
    time.sleep(4)  # until it waits for its turn
    stopped = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - stopped < 10
    deployment.until_depth("notify.sms.normal", 1)
    assert deployment.depth("notify.dead") == 0
    assert deployment.ledger.record(patient.notification.id) is None
