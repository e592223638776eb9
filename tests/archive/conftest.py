from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from notify.local import Servers
from notify.store import Store
from tests.archive.rabbit import Rabbit


@pytest.fixture
def rabbit(servers: Servers, vhost: Any) -> Rabbit:
    """A virtual host with our topology and policies."""
    declared = Rabbit(vhost.url, vhost.name, servers.management_url)
    declared.limit_deliveries()
    declared.declare()
    return declared


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path}/archive.sqlite3")) as opened:
        opened.create()
        yield opened
