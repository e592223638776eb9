"""Limits with keys of their own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from notify.limits import Limits
from notify.local import Servers
from tests.limits.desk import Clock, Desk


@pytest.fixture
def raw(servers: Servers) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(servers.redis_url, decode_responses=True)
    yield client
    client.close()


@pytest.fixture
def prefix() -> str:
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def limits(servers: Servers, prefix: str) -> Iterator[Limits]:
    """By the Redis server's clock."""
    with_its_clock = Limits(servers.redis_url, prefix=prefix)
    yield with_its_clock
    with_its_clock.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(servers: Servers, raw: redis.Redis, prefix: str, clock: Clock) -> Iterator[Desk]:
    """By a clock that stands still."""
    limits = Limits(servers.redis_url, prefix=prefix, clock=clock, chance=lambda: 0.625)
    yield Desk(limits=limits, clock=clock, raw=raw, prefix=prefix)
    limits.close()
