"""A ledger with keys of its own."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from notify.ledger import Ledger
from notify.local import Servers
from tests.ledger.books import Books


@pytest.fixture
def raw(servers: Servers) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(servers.redis_url, decode_responses=True)
    yield client
    client.close()


@pytest.fixture
def books(servers: Servers, raw: redis.Redis) -> Iterator[Books]:
    prefix = f"t{uuid4().hex[:8]}"
    ledger = Ledger(servers.redis_url, prefix=prefix, timeout=1.0)
    ledger.mark()
    yield Books(ledger=ledger, raw=raw, prefix=prefix)
    ledger.close()
