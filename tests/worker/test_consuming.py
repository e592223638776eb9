"""What a running worker is to RabbitMQ, what it logs, and that it goes on consuming."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import requests

from notify.broker.channel import connect, drop
from notify.local import PrivateServers, Servers
from notify.sandbox import Answer
from notify.topology import work_queue
from tests.broker.node import alarm
from tests.conftest import Vhost
from tests.deployment import Deployment, sms
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]
QUEUE = work_queue("sms", "normal")
BODY = "Your code is 493-201"


def test_it_consumes_one_queue_with_a_window_of_its_own(
    deploy: Callable[..., Deployment], servers: Servers, vhost: Vhost
) -> None:
    """The window is for the consumer; the delay machinery of Celery is nowhere."""
    deployment = deploy(concurrency=3)
    deployment.sandbox.script("*", then=Answer(delay=3))
    deployment.worker()
    api = f"{servers.management_url}/api"

    def told(what: str) -> Any:
        return requests.get(f"{api}/{what}/{quote(vhost.name)}", timeout=10).json()

    def consumers() -> dict[str, Any]:
        return {c["queue"]["name"]: c for c in told("consumers")}

    work = {name: c for name, c in eventually(consumers, "consumers").items() if name == QUEUE}
    assert work[QUEUE]["prefetch_count"] == 3
    assert work[QUEUE]["ack_required"]
    assert not work[QUEUE]["exclusive"]
    foreign = {n for n in consumers() if n.startswith("notify.") and "probe" not in n} - {QUEUE}
    assert foreign == set()
    for channel in requests.get(f"{api}/vhosts/{quote(vhost.name)}/channels", timeout=10).json():
        # From 4.0 there is no such thing.
        assert channel.get("global_prefetch_count", 0) == 0
    deployment.send(*[sms(recipient=f"+4917000{n:05}") for n in range(8)])
    deployment.sandbox.wait_for(3, 20)
    assert deployment.ready() == 5
    names = [item["name"] for kind in ("queues", "exchanges") for item in told(kind)]
    assert QUEUE in names
    assert not [name for name in names if name.startswith("celery_delayed")]


def test_one_line_is_logged_for_each_event_without_content(deployment: Deployment) -> None:
    deployment.sandbox.script("+491701111111", Answer(status=503))
    deployment.sandbox.script("+491702222222", then=Answer(status=400))
    worker = deployment.worker()
    fine, refused = sms(BODY, "+491701111111"), sms(BODY, "+491702222222")
    deployment.send(fine, refused)
    deployment.until_sent(fine.id)
    deployment.until_settled(refused.id)
    lines = [json.loads(line) for line in worker.text().splitlines()]
    events = {
        notification.id: [
            {k: v for k, v in line.items() if k not in ("time", "logger", "ms")}
            for line in lines
            if line.get("id") == notification.id
        ]
        for notification in (fine, refused)
    }
    common = {"level": "INFO", "channel": "sms", "priority": "normal", "generation": 1}
    common |= {"provider": "texts"}
    first = common | {"id": fine.id, "recipient": "+49***11"}
    failed = {"outcome": "temporary", "reason": "provider_busy", "code": "503", "retry_in": 1}
    assert events[fine.id] == [
        first | failed | {"event": "retry", "attempt": 1},
        first | {"event": "delivered", "attempt": 2, "outcome": "sent", "code": "200"},
    ]
    dead = {"outcome": "permanent", "reason": "refused", "code": "400", "dead_reason": "refused"}
    other = common | {"id": refused.id, "recipient": "+49***22"}
    assert events[refused.id] == [other | dead | {"event": "dead", "attempt": 1}]
    assert all(text not in worker.text() for text in (BODY, "493-201", "1111111", "2222222"))


@pytest.mark.slow
def test_an_alarm_stops_neither_deliveries_nor_what_must_be_tried_again(
    deployment: Deployment, restartable: PrivateServers
) -> None:
    """While RabbitMQ takes nothing, the backlog is delivered: else the alarm would never end."""
    backlog = [sms(recipient=f"+4917000{n:05}") for n in range(20)]
    retry = sms(recipient="+491709999999")
    deployment.sandbox.script(retry.recipient, Answer(status=503))
    deployment.send(*backlog[:10], retry, *backlog[10:])
    with alarm(restartable):
        worker = deployment.worker()
        received = deployment.sandbox.wait_for(20, 30)
        assert {item.id for item in received} == {n.id for n in backlog}
        deployment.until_logged(worker, "step not durable yet")
        record = deployment.ledger.record(retry.id)
        assert record is not None
        assert (record.state, record.unpublished) == ("waiting", True)
        for notification in backlog:
            deployment.until_sent(notification.id)
        assert worker.popen.poll() is None
    deployment.until_sent(retry.id)
    assert len(deployment.sandbox.received(retry.recipient)) == 2
    eventually(lambda: deployment.ready() == 0, "an empty queue")
    assert worker.popen.poll() is None


@pytest.mark.slow
def test_it_consumes_again_when_its_queue_was_deleted(deployment: Deployment) -> None:
    worker = deployment.worker()
    before, after = sms(), sms()
    deployment.send(before)
    deployment.until_sent(before.id)
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    connection.connection.channel().queue_delete(QUEUE)
    drop(connection)
    declared = deployment.cli("topology", "declare")
    assert declared.returncode == 0, declared.stderr
    deployment.send(after)
    deployment.until_sent(after.id)
    assert worker.popen.poll() is None
    diff = deployment.cli("topology", "diff")
    assert diff.returncode == 0, diff.stdout
