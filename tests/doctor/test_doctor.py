"""``notify doctor`` with real servers, healthy and not."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from notify.doctor import ALL_CHECKS
from notify.redisclient import open_redis
from tests.cli.conftest import Ran, offline, shell, shell_of
from tests.deployment import Deployment
from tests.waiting import eventually

__all__ = ["offline", "shell"]

Found = dict[str, tuple[str, list[str]]]


def examined(ran: Ran) -> Found:
    """Each check's worst severity and what it says."""
    order = ("fine", "note", "warning", "critical")
    found: Found = {}
    for each in json.loads(ran.out)["findings"]:
        severity, said = found.get(each["check"], ("fine", []))
        worse = max(severity, each["severity"], key=order.index)
        found[each["check"]] = (worse, [*said, each["what"]])
    return found


@pytest.mark.broker
@pytest.mark.redis
def test_a_deployment_with_all_its_processes(
    deploy: Callable[..., Deployment],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    deployment = deploy(providers={"email": None, "webhook": None})
    shell = shell_of(deployment, monkeypatch, capsys)
    for channel, priority in deployment.settings.queues():
        deployment.worker(channel, priority)
    deployment.archiver()

    def consumed() -> bool:
        return examined(shell("doctor", "--json"))["rabbitmq-consumers"][0] == "fine"

    eventually(consumed, "a consumer on each queue", 30)
    ran = shell("doctor", "--json")
    found = examined(ran)
    bad = {name: said for name, said in found.items() if said[0] in ("warning", "critical")}
    # Of the machine that the tests run on nothing is known.
    assert set(bad) <= {"redis-memory", "rabbitmq-room", "disk", "units", "rabbitmq-feature-flags"}
    known = {check.name for check in ALL_CHECKS}
    assert set(found) <= known
    assert found["rabbitmq-topology"][0] == found["redis-eviction"][0] == "fine"

    live = examined(shell("doctor", "--go-live", "--json"))
    assert live["rabbitmq-login"][0] == "fine"
    assert live["providers-real"][0] == "critical"
    assert live["rabbitmq-cluster"][0] == "warning"
    assert set(live) == known


@pytest.fixture
def broken_redis(deployment: Deployment) -> Iterator[None]:
    redis = deployment.settings.redis
    with closing(open_redis(redis.url, redis.timeout)) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        yield
        client.config_set("maxmemory-policy", "noeviction")


def put(deployment: Deployment, path: str, body: dict[str, Any]) -> None:
    vhost = urlsplit(deployment.vhost_url).path[1:]
    url = f"{deployment.servers.management_url}/api/{path.format(vhost=vhost)}"
    requests.put(url, json=body, timeout=10).raise_for_status()


@pytest.mark.broker
@pytest.mark.redis
def test_what_an_operator_broke(
    deployment: Deployment, broken_redis: None, shell: Callable[..., Ran]
) -> None:
    foreign = {"pattern": "^notify.sms", "definition": {"message-ttl": 60000}, "apply-to": "queues"}
    put(deployment, "operator-policies/{vhost}/foreign", foreign)

    def seen() -> Found | None:
        found = examined(shell("doctor", "--json"))
        return found if found["rabbitmq-policies"][0] == "critical" else None

    found = eventually(seen, "the policy is in force", 30)
    said = "queue notify.sms.urgent: a policy sets message-ttl=60000"
    assert said in found["rabbitmq-policies"][1]
    assert found["redis-eviction"] == (
        "critical",
        ["maxmemory-policy is allkeys-lru, must be noeviction"],
    )
    assert found["rabbitmq-consumers"][0] == "critical"
    ran = shell("doctor")
    assert ran.code == 1
    assert "CRITICAL  redis-eviction: maxmemory-policy is allkeys-lru" in ran.out
    assert "see ops/runbooks/redis-evicts.md" in ran.out


def test_without_any_server(offline: Callable[..., Ran]) -> None:
    ran = offline("doctor", "--json")
    found = examined(ran)
    assert ran.code == 1
    assert {found[name][0] for name in ("rabbitmq-answers", "redis-answers")} == {"critical"}
    assert found["config-valid"][0] == "fine"
    assert found["beat-leads"][0] == "note"
    assert "hunter2" not in ran.out


def test_a_broken_configuration_is_a_finding(
    offline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_REDIS_URL", "nowhere")
    ran = offline("doctor", "--json")
    severity, said = examined(ran)["config-valid"]
    assert (ran.code, severity) == (1, "critical")
    assert said == ["NOTIFY_REDIS_URL: must be a URL with a host, starting with redis or rediss://"]


def test_a_directory_that_is_not_there(
    offline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_CONFIG", "/nonexistent")
    ran = offline("doctor", "--json")
    assert examined(ran)["config-valid"][1] == ["/nonexistent: there is no such directory"]
