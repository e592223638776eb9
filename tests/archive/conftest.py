from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from notify.local import Servers
from notify.store import Store
from tests.archive.rabbit import Rabbit
from tests.postgres import PostgresServer


@pytest.fixture
def rabbit(servers: Servers, vhost: Any) -> Rabbit:
    """A virtual host with our topology and policies."""
    declared = Rabbit(vhost.url, vhost.name, servers.management_url)
    declared.limit_deliveries()
    declared.declare()
    return declared


# For what PostgreSQL does in other ways.
on_sqlite = pytest.mark.parametrize("archive_url", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("archive_url", ["postgresql"], indirect=True)


@pytest.fixture
def empty_postgresql(archive_url: str, postgres: PostgresServer) -> Iterator[str]:
    """A database without tables beside that of the archive."""
    with postgres.database(empty=True) as url:
        yield url


@pytest.fixture
def store(archive_url: str) -> Iterator[Store]:
    with closing(Store(archive_url)) as opened:
        opened.create()
        yield opened
