"""Suppressions with keys of their own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from notify.local import Servers
from notify.suppressions import Suppressions
from tests.suppressions.values import Clock


@pytest.fixture
def raw(servers: Servers) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(servers.redis_url, decode_responses=True)
    yield client
    client.close()


@pytest.fixture
def prefix() -> str:
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def suppressions(servers: Servers, prefix: str, clock: Clock) -> Iterator[Suppressions]:
    """By a clock that stands still."""
    made = Suppressions(servers.redis_url, prefix=prefix, clock=clock)
    yield made
    made.close()
