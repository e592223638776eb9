"""The cluster, started once for all of these tests, and a deployment on it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from notify.errors import Unavailable
from notify.local import PrivateServers, Servers, executables, servers_from_environment
from notify.sandbox import Sandbox
from tests.cluster.cluster import Cluster
from tests.cluster.deployment import ClusterDeployment


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Gone after the last of these tests: three idle nodes would slow down all others."""
    if servers_from_environment() and not installed():
        pytest.skip("the servers are given, and there is no RabbitMQ to start here")
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with PrivateServers(tmp_path_factory.mktemp("redis"), rabbitmq=False, fresh=True) as servers:
        yield servers


def installed() -> bool:
    try:
        executables.find(rabbitmq=True, redis=True)
    except Unavailable:
        return False
    return True


@pytest.fixture
def cluster(running: Cluster) -> Iterator[Cluster]:
    """All three nodes run, when the test begins and when it has ended."""
    running.heal()
    yield running
    running.heal()


@pytest.fixture
def deploy_on(
    cluster: Cluster, redis_server: Servers, sandbox: Sandbox, tmp_path: Path
) -> Iterator[Callable[..., ClusterDeployment]]:
    """Makes a deployment with options for its configuration."""
    made: list[ClusterDeployment] = []

    def make(**options: Any) -> ClusterDeployment:
        vhost = f"test-{uuid4().hex[:12]}"
        urls = tuple(node.url(vhost) for node in cluster.nodes)
        made.append(
            ClusterDeployment(
                directory=tmp_path / f"deployment-{len(made)}",
                sandbox=sandbox,
                servers=Servers(
                    broker_urls=urls,
                    management_url=cluster.nodes[-1].identity.management_url,
                    redis_url=redis_server.redis_url,
                ),
                vhost_url=urls[0],
                vhost=vhost,
                prefix=f"t{uuid4().hex[:8]}",
                options=options,
            )
        )
        return made[-1]

    yield make
    for deployment in made:
        deployment.close()
