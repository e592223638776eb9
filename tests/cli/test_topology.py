"""``notify topology`` and what a worker says about a broker that is not as it needs it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from amqp import Message

from notify.broker.channel import connect, drop
from notify.topology import work_queue
from tests.cli.conftest import Ran
from tests.deployment import Deployment

pytestmark = [pytest.mark.broker, pytest.mark.redis]

NAME = work_queue("sms", "normal")


@contextmanager
def amqp(deployment: Deployment) -> Iterator[Any]:
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    try:
        yield connection.channel()
    finally:
        drop(connection)


def test_declaring_and_comparing(deployment: Deployment, shell: Callable[..., Ran]) -> None:
    checked = shell("config", "check")
    assert (checked.code, checked.err) == (0, "")

    shown = json.loads(shell("topology", "show", "--json").out)
    assert [queue["name"] for queue in shown["queues"]][:3] == [
        "notify.dead",
        "notify.sms.urgent",
        "notify.sms.normal",
    ]
    assert [policy["name"] for policy in shown["policies"]] == ["notify-work", "notify-dead"]
    assert "notify.delay.urgent.4s" in shell("topology", "show").out

    for _ in range(2):
        declared = shell("topology", "declare")
        assert (declared.code, declared.out) == (
            0,
            "declared 9 exchanges and 13 queues\n",
        )
    same = shell("topology", "diff")
    assert (same.code, same.out) == (
        0,
        "RabbitMQ has the topology that Notify needs\n",
    )

    with amqp(deployment) as channel:
        channel.queue_delete(NAME)
        channel.queue_unbind("notify.sms.urgent", "notify.return", "sms.urgent")
        channel.exchange_delete("notify.delay.urgent.4s")
    diff = shell("topology", "diff", "--json")
    assert diff.code == 1
    assert set(json.loads(diff.out)["differences"]) == {
        f"queue {NAME}: is missing",
        f"binding notify -> {NAME} (sms.normal): is missing",
        f"binding notify.return -> {NAME} (sms.normal): is missing",
        "binding notify.return -> notify.sms.urgent (sms.urgent): is missing",
        "exchange notify.delay.urgent.4s: is missing",
        "binding notify.delay.urgent.4s -> notify.delay.urgent.4s (): is missing",
    }
    assert shell("topology", "declare").code == 0
    assert shell("topology", "diff").code == 0


def test_a_queue_with_other_arguments_is_named_and_left_as_it_is(deployment: Deployment) -> None:
    with amqp(deployment) as channel:
        channel.queue_delete(NAME)
        channel.queue_declare(
            NAME, durable=True, auto_delete=False, arguments={"x-queue-type": "quorum"}
        )
        channel.basic_publish(Message("x", delivery_mode=2), "", NAME)
    declared = deployment.cli("topology", "declare")
    assert declared.returncode == 3
    assert declared.stderr.startswith(f"notify: queue {NAME}: ")
    assert declared.stderr.count("\n") == 1
    worker = deployment.cli("worker", "sms", "normal")
    assert worker.returncode == 3
    for line in (
        f"queue {NAME}: argument x-dead-letter-exchange is missing, must be notify.dead",
        f"queue {NAME}: argument x-dead-letter-strategy is missing, must be at-least-once",
        f"queue {NAME}: argument x-overflow is missing, must be reject-publish",
        f"binding notify -> {NAME} (sms.normal): is missing",
    ):
        assert line in worker.stderr
    assert "Traceback" not in declared.stderr + worker.stderr
    assert deployment.ready() == 1


def test_a_missing_policy_keeps_a_worker_from_starting(deployment: Deployment) -> None:
    base = f"{deployment.servers.management_url}/api/policies"
    vhost = deployment.vhost_url.rpartition("/")[2]
    requests.delete(f"{base}/{vhost}/notify-work", timeout=10).raise_for_status()
    line = f"queue {NAME}: policy delivery-limit is not set, must be 10"
    diff = deployment.cli("topology", "diff")
    assert diff.returncode == 1
    assert line in diff.stdout
    worker = deployment.cli("worker", "sms", "normal")
    assert worker.returncode == 3
    assert line in worker.stderr
    assert "run: notify topology declare" in worker.stderr


def test_a_virtual_host_that_is_missing_is_named_and_declared(deployment: Deployment) -> None:
    name = f"{deployment.prefix}-none"
    deployment.environ["NOTIFY_BROKER_URLS"] = deployment.vhost_url.rpartition("/")[0] + f"/{name}"
    missing = deployment.cli("topology", "diff")
    assert missing.returncode == 4
    assert f"virtual host '{name}' is missing; run: notify topology declare" in missing.stderr
    try:
        assert deployment.cli("topology", "declare").returncode == 0
        assert deployment.cli("topology", "diff").returncode == 0
    finally:
        api = f"{deployment.servers.management_url}/api/vhosts/{name}"
        requests.delete(api, timeout=10).raise_for_status()
