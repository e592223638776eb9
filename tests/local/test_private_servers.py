"""A private RabbitMQ and Redis that work, on loopback only, and keep what they confirmed."""

import json
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pika
import pytest
import redis

from notify.errors import Unavailable
from notify.local import PrivateServers, Servers, ports

from .watching import family, listening_addresses, runs, survivors, wait_for

pytestmark = [pytest.mark.broker, pytest.mark.redis, pytest.mark.slow]

IPV4_LOOPBACK = "0100007F"
IPV6_LOOPBACK = "0" * 24 + "01000000"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("with space") / "данные 目录"


@pytest.fixture(scope="module")
def owner(directory: Path) -> PrivateServers:
    return PrivateServers(directory, fresh=True)


@pytest.fixture(scope="module")
def servers(owner: PrivateServers) -> Iterator[Servers]:
    with owner as running:
        yield running


def ask_management(servers: Servers, path: str) -> Any:
    scheme, _, rest = servers.management_url.partition("://")
    login, _, address = rest.partition("@")
    user, _, password = login.partition(":")
    url = f"{scheme}://{address}"
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, url, user, password)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
    with opener.open(url + path, timeout=10) as answer:
        return json.load(answer)


def publish_confirmed(servers: Servers, queue: str, body: bytes) -> None:
    with pika.BlockingConnection(pika.URLParameters(servers.broker_urls[0])) as connection:
        channel = connection.channel()
        channel.queue_declare(queue, durable=True, arguments={"x-queue-type": "quorum"})
        channel.confirm_delivery()
        channel.basic_publish("", queue, body, mandatory=True)


def wait_until_registered(directory: Path, queue: str) -> None:
    """A node that is killed in the second after a queue's declaration may forget the queue.

    RabbitMQ syncs its directory of quorum queues with a delay, unlike their messages.
    """
    (names,) = (directory / "rabbitmq/data").glob("*/quorum/*/names.dets")
    name = f"_{queue}".encode()
    wait_for(lambda: name in names.read_bytes(), f"{queue} is in {names}")


def take(servers: Servers, queue: str) -> bytes | None:
    with pika.BlockingConnection(pika.URLParameters(servers.broker_urls[0])) as connection:
        _, _, body = connection.channel().basic_get(queue, auto_ack=True)
        assert body is None or isinstance(body, bytes)
        return body


def connect_redis(servers: Servers) -> redis.Redis:
    return redis.Redis.from_url(servers.redis_url, decode_responses=True)


def test_everything_listens_on_loopback_only(owner: PrivateServers, servers: Servers) -> None:
    identity = json.loads((owner.directory / "servers.json").read_text())
    addresses = listening_addresses(owner.pids)
    assert {port for _, port in addresses} == set(identity["ports"].values())
    assert {address for address, _ in addresses} <= {IPV4_LOOPBACK, IPV6_LOOPBACK}


def test_secrets_are_for_the_owner_only(directory: Path, servers: Servers) -> None:
    secret = ("servers.json", "rabbitmq/rabbitmq.conf", "rabbitmq/home/.erlang.cookie")
    modes = {name: stat.S_IMODE((directory / name).stat().st_mode) for name in secret}
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


def test_at_least_once_dead_lettering_is_possible(servers: Servers) -> None:
    flags = {f["name"]: f["state"] for f in ask_management(servers, "/api/feature-flags")}
    assert flags["quorum_queue"] == flags["stream_queue"] == "enabled"


def test_redis_is_durable_and_never_evicts(servers: Servers) -> None:
    with connect_redis(servers) as client:
        wanted = {"appendonly": "yes", "appendfsync": "everysec", "save": ""}
        wanted["maxmemory-policy"] = "noeviction"
        assert {name: client.config_get(name)[name] for name in wanted} == wanted


def test_a_confirmed_message_survives_a_kill_of_the_broker(
    owner: PrivateServers, servers: Servers
) -> None:
    publish_confirmed(servers, "kept", b"still here")
    wait_until_registered(owner.directory, "kept")
    before = owner.broker_pid
    owner.restart_broker(kill=True)
    assert owner.broker_pid != before
    assert take(servers, "kept") == b"still here"


def test_an_orderly_restart_of_redis_keeps_its_keys(
    owner: PrivateServers, servers: Servers
) -> None:
    with connect_redis(servers) as client:
        client.set("kept", "still here")
    owner.restart_redis()
    with connect_redis(servers) as client:
        assert client.get("kept") == "still here"


def test_a_stopped_redis_can_be_started_again(owner: PrivateServers, servers: Servers) -> None:
    owner.stop_redis(kill=True)
    with pytest.raises(Unavailable, match="Redis is not running"):
        assert owner.redis_pid
    owner.start_redis()
    assert runs(owner.redis_pid)
    with pytest.raises(Unavailable, match="Redis is running already"):
        owner.start_redis()


def test_a_second_owner_of_the_directory_is_refused(
    directory: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notify.local.directory.WAIT_SECONDS", 0.1)
    with pytest.raises(Unavailable, match="already running for another process"):
        PrivateServers(directory).__enter__()


def test_the_next_run_keeps_ports_and_data_and_stops_in_order(tmp_path: Path) -> None:
    said: list[str] = []
    with PrivateServers(tmp_path, progress=said.append) as first:
        publish_confirmed(first, "kept", b"still here")
    owner = PrivateServers(tmp_path)
    with owner as second:
        assert second == first
        assert take(second, "kept") == b"still here"
        everything = {pid for guard in owner.pids for pid in (guard, *family(guard))}
    wait_for(lambda: not survivors(everything), "all are gone")
    wait_for(lambda: all(map(ports.is_free, _ports(tmp_path))), "all ports are free")
    assert said[:2] == ["Redis: starting", "RabbitMQ: starting"]
    assert said[-1] == "stopping RabbitMQ and Redis"


def _ports(directory: Path) -> list[int]:
    return list(json.loads((directory / "servers.json").read_text())["ports"].values())
