"""Real servers for all tests, started once; a deployment of its own for each test."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import pytest
import requests
from hypothesis import settings

from notify import topology
from notify.broker import declare
from notify.errors import BrokerUnavailable
from notify.local import PrivateServers, Servers, servers_from_environment
from notify.sandbox import Sandbox
from tests.deployment import Deployment
from tests.postgres import PostgresServer

# A shell ignores SIGINT for what it starts in the background, and so would all our processes:
# tests of Ctrl-C would depend on how the tests were started.
signal.signal(signal.SIGINT, signal.default_int_handler)
# How long an example takes says how busy the machine is.
settings.register_profile("notify", deadline=None)
settings.load_profile("notify")


@dataclass(frozen=True, kw_only=True)
class Vhost:
    """A virtual host that exists for one test."""

    url: str
    name: str


@pytest.fixture(scope="session")
def own_servers(tmp_path_factory: pytest.TempPathFactory) -> PrivateServers | None:
    """To stop and start; ``None`` where the servers are not ours."""
    if servers_from_environment():
        return None
    return PrivateServers(tmp_path_factory.mktemp("servers"), fresh=True)


@pytest.fixture(scope="session")
def servers(own_servers: PrivateServers | None) -> Iterator[Servers]:
    given = servers_from_environment()
    if own_servers is None:
        assert given
        yield given
        return
    with own_servers as started:
        yield started


@pytest.fixture
def restartable(own_servers: PrivateServers | None, servers: Servers) -> PrivateServers:
    """The private servers, for tests that stop and start them."""
    if own_servers is None:
        pytest.skip("the servers are given, and not ours to restart")
    return own_servers


@pytest.fixture
def vhost(
    request: pytest.FixtureRequest, servers: Servers, own_servers: PrivateServers | None
) -> Iterator[Vhost]:
    name = f"test-{uuid4().hex[:12]}"
    api = f"{servers.management_url}/api"
    user = quote(urlsplit(servers.broker_urls[0]).username or "guest")
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    requests.put(f"{api}/vhosts/{name}", timeout=10).raise_for_status()
    requests.put(f"{api}/permissions/{name}/{user}", json=everything, timeout=10).raise_for_status()
    parts = urlsplit(servers.broker_urls[0])
    made = Vhost(url=parts._replace(path=f"/{name}").geturl(), name=name)
    if own_servers is not None:
        heal(own_servers, made.url)
    yield made
    # Soon after a restart, queues that are deleted can end the node's dead lettering.
    if "restartable" not in request.fixturenames:
        requests.delete(f"{api}/vhosts/{name}", timeout=10).raise_for_status()


def heal(own: PrivateServers, url: str) -> None:
    """Starts a node again whose dead lettering has ended, which RabbitMQ cannot mend itself."""
    lossless = topology.build([("sms", "normal")], [1], 1).queues[-1]
    probe = topology.Topology(
        exchanges=(), queues=(replace(lossless, name="health"),), bindings=(), delivery_limit=1
    )
    try:
        declare(probe, [url], timeout=30)
    except BrokerUnavailable as error:
        if "INTERNAL_ERROR" not in str(error):
            raise
        own.restart_broker()
        declare(probe, [url], timeout=30)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with closing(PostgresServer()) as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of each kind without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/new/directory/archive.sqlite3"
        return
    with request.getfixturevalue("postgres").database(empty=True) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def archive_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An archive of each kind of database; its tables may be there already."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/archive.sqlite3"
        return
    with request.getfixturevalue("postgres").database() as url:
        yield url


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as running:
        yield running


@pytest.fixture
def deploy(
    tmp_path: Path, sandbox: Sandbox, servers: Servers, vhost: Vhost
) -> Iterator[Callable[..., Deployment]]:
    """Makes a deployment with options for its configuration."""
    made: list[Deployment] = []

    def make(**options: Any) -> Deployment:
        made.append(
            Deployment(
                directory=tmp_path / f"deployment-{len(made)}",
                sandbox=sandbox,
                servers=servers,
                vhost_url=vhost.url,
                prefix=f"t{uuid4().hex[:8]}",
                options=options,
            )
        )
        return made[-1]

    yield make
    for deployment in made:
        deployment.close()


@pytest.fixture
def deployment(deploy: Callable[..., Deployment]) -> Deployment:
    return deploy()


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own NOTIFY_ variables must not reach a test, but for the servers."""
    kept = ("NOTIFY_BROKER_URLS", "NOTIFY_MANAGEMENT_URL", "NOTIFY_REDIS_URL")
    for name in list(os.environ):
        if name.startswith("NOTIFY_") and name not in (*kept, "NOTIFY_RABBITMQ_SERVER"):
            monkeypatch.delenv(name)
