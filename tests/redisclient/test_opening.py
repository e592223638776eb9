"""What the library's client is opened with."""

from contextlib import closing
from uuid import uuid4

import pytest

from notify.errors import LedgerUnavailable
from notify.local import Servers
from notify.redisclient import open_redis, translated

pytestmark = pytest.mark.redis


def test_what_is_no_text_can_be_read_and_written_back(servers: Servers) -> None:
    """Somebody else's names: whoever finds one must be able to ask for it, and remove it."""
    name = f"t{uuid4().hex[:8]}".encode() + b"\xff"
    with closing(open_redis(servers.redis_url, 2.0, errors="surrogateescape")) as client:
        client.set(name, b"\xfe")
        (found,) = client.keys(name[:-1] + b"*")
        assert found == name.decode(errors="surrogateescape")
        assert client.get(found) == "\udcfe"
        assert client.delete(found) == 1


def test_more_threads_than_the_library_foresees_can_have_a_connection(servers: Servers) -> None:
    with closing(open_redis(servers.redis_url, 2.0)) as client:
        pool = client.connection_pool
        taken = [pool.get_connection() for _ in range(150)]
        for each in taken:
            pool.release(each)


@pytest.mark.parametrize("value", [True, None])
def test_what_is_no_value_of_redis_is_refused_before_it_is_sent(
    value: object, servers: Servers
) -> None:
    with (
        closing(open_redis(servers.redis_url, 2.0)) as client,
        pytest.raises(LedgerUnavailable, match="Redis: DataError"),
        translated(),
    ):
        client.set("x", value)  # type: ignore[arg-type]
