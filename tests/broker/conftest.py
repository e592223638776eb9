"""A virtual host with the topology, and what stands between it and a publisher."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notify.broker import Publisher
from tests.broker.proxy import Proxy
from tests.broker.rabbit import Rabbit
from tests.conftest import Vhost


@pytest.fixture
def rabbit(vhost: Vhost) -> Rabbit:
    rabbit = Rabbit(vhost.url)
    rabbit.declare()
    return rabbit


@pytest.fixture
def proxy(rabbit: Rabbit) -> Iterator[Proxy]:
    with Proxy(rabbit.url) as proxy:
        yield proxy


@pytest.fixture
def publishing() -> Iterator[Callable[..., Publisher]]:
    """Makes publishers, which are closed after the test."""
    made: list[Publisher] = []

    def make(*urls: str, **options: Any) -> Publisher:
        made.append(Publisher(urls, **options))
        return made[-1]

    yield make
    for publisher in made:
        publisher.close()


@pytest.fixture
def publisher(rabbit: Rabbit, publishing: Callable[..., Publisher]) -> Publisher:
    return publishing(rabbit.url)
