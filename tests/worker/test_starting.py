"""A worker that lacks what it needs says what, and does not start."""

import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from notify.broker.channel import connect, drop
from notify.local import PrivateServers, Servers
from notify.topology import DEAD, work_queue
from tests.broker.fronts import Fronts
from tests.deployment import Deployment

pytestmark = [pytest.mark.broker, pytest.mark.redis]


def refused(deployment: Deployment, code: int, *arguments: str) -> str:
    """What it says, in a few lines, when it does not start."""
    ended: subprocess.CompletedProcess[str] = deployment.cli(
        "worker", *(arguments or ("sms", "normal"))
    )
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    password = urlsplit(deployment.vhost_url).password
    assert password
    assert password not in ended.stderr
    return ended.stderr


@pytest.fixture
def nowhere() -> str:
    """An address that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_without_its_topology_it_lists_what_is_missing(deployment: Deployment) -> None:
    connection = connect(deployment.vhost_url, connect_timeout=5, read_timeout=5)
    channel = connection.connection.channel()
    channel.queue_delete(work_queue("sms", "normal"))
    channel.queue_unbind(DEAD, DEAD, "#")
    channel.exchange_delete("notify.return")
    drop(connection)
    said = refused(deployment, 3)
    assert "exchange notify.return: is missing" in said
    assert "binding notify.dead -> notify.dead (#): is missing" in said
    assert re.search(r"notify\.return -> notify\.sms\.normal .*: is missing", said)
    assert "run: notify topology declare" in said
    assert "email" not in said


def test_without_its_virtual_host(deployment: Deployment) -> None:
    deployment.environ["NOTIFY_BROKER_URLS"] = deployment.vhost_url + "-not"
    assert "is missing; run: notify topology declare" in refused(deployment, 4)


@pytest.fixture
def eviction(servers: Servers) -> Iterator[Callable[[str], Any]]:
    client = redis.Redis.from_url(servers.redis_url)
    yield lambda policy: client.config_set("maxmemory-policy", policy)
    client.config_set("maxmemory-policy", "noeviction")
    client.close()


def test_with_a_redis_that_evicts(
    deployment: Deployment, eviction: Callable[[str], Any], restartable: PrivateServers
) -> None:
    eviction("allkeys-lru")
    assert "maxmemory-policy must be noeviction" in refused(deployment, 3)


def test_with_a_channel_or_priority_that_there_is_not(deployment: Deployment) -> None:
    assert "fax" in refused(deployment, 2, "fax", "normal")
    assert "soon" in refused(deployment, 2, "sms", "soon")
    (deployment.directory / "config" / "channels" / "email.toml").unlink()
    assert "no queue for email normal" in refused(deployment, 2, "email", "normal")


def test_without_the_management_api(deployment: Deployment, nowhere: str) -> None:
    deployment.environ["NOTIFY_MANAGEMENT_URL"] = f"http://u:p@{nowhere}"
    assert f"management API at http://{nowhere}" in refused(deployment, 4)


def test_without_redis(deployment: Deployment, nowhere: str) -> None:
    deployment.environ["NOTIFY_REDIS_URL"] = f"redis://{nowhere}/0"
    assert "Redis: ConnectionError" in refused(deployment, 4)


def trust(deployment: Deployment, certificates: str) -> None:
    config = deployment.directory / "config"
    (config / "ca.pem").write_text(certificates, encoding="ascii")
    main = config / "notify.toml"
    text = main.read_text(encoding="utf-8")
    named = f'[broker]\nca_file = "{config / "ca.pem"}"'
    main.write_text(text.replace("[broker]", named), encoding="utf-8")


def test_with_a_rabbitmq_that_is_another(deployment: Deployment, tmp_path: Path) -> None:
    with Fronts(tmp_path, deployment.vhost_url) as front:
        place = front("DNS:other.test")
        trust(deployment, front.trusted)
        deployment.environ["NOTIFY_BROKER_URLS"] = place.url("127.0.0.1")
        said = refused(deployment, 4)
        assert f"the certificate of 127.0.0.1:{place.port} is for another name" in said
        assert place.heard == []


def test_with_a_rabbitmq_that_is_the_right_one(deployment: Deployment, tmp_path: Path) -> None:
    """It is told whom to trust by the configuration, and everything of a worker goes there."""
    with Fronts(tmp_path, deployment.vhost_url) as front:
        place = front("DNS:localhost")
        trust(deployment, front.trusted)
        deployment.environ["NOTIFY_BROKER_URLS"] = place.url("localhost")
        worker = deployment.worker()
        assert place.heard
        assert worker.stop() == 0
        assert "certificate" not in worker.text()


def test_without_rabbitmq(deployment: Deployment, nowhere: str) -> None:
    parts = urlsplit(deployment.vhost_url)
    deployment.environ["NOTIFY_BROKER_URLS"] = parts._replace(
        netloc=f"{parts.username}:{parts.password}@{nowhere}"
    ).geturl()
    assert "RabbitMQ" in refused(deployment, 4)
