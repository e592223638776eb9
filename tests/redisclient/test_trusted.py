"""Redis over TLS: whoever connects, the certificate must be for the host of the URL."""

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import redis
from redbeat.schedulers import get_redis

from notify.config import Settings
from notify.config.models import RedisSettings
from notify.redisclient import open_redis
from notify.redisclient.opening import open_connection
from notify.schedule.entries import beat_app
from tests.channels.peers import Peer, make_certificate, server_side


def by_the_client(url: str) -> None:
    with closing(open_redis(url, 2.0)) as client:
        client.ping()


def by_the_line(url: str) -> None:
    open_connection(url, 2.0).disconnect()


def by_the_beat(url: str) -> None:
    with closing(get_redis(beat_app(Settings(redis=RedisSettings(url=url))))) as client:
        client.ping()


@pytest.mark.parametrize("connect", [by_the_client, by_the_line, by_the_beat])
@pytest.mark.parametrize(
    ("host", "names", "days", "own", "fits"),
    [
        ("127.0.0.1", "IP:127.0.0.1", 2, True, True),
        ("localhost", "DNS:localhost", 2, True, True),
        ("127.0.0.1", "DNS:other.test", 2, True, False),
        ("localhost", "DNS:other.test,IP:127.0.0.1", 2, True, False),
        ("127.0.0.1", "IP:127.0.0.2", 2, True, False),
        ("127.0.0.1", "IP:127.0.0.1", -1, True, False),
        ("127.0.0.1", "IP:127.0.0.1", 2, False, False),
    ],
)
def test_only_to_the_host_of_the_url(
    connect: Callable[[str], None],
    host: str,
    names: str,
    days: int,
    own: bool,
    fits: bool,
    tmp_path: Path,
) -> None:
    certificate, key = make_certificate(tmp_path, names, days)
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heard.append(connection.recv(65536))

    with Peer(serve, server_side(certificate, key)) as peer:
        url = f"rediss://:hunter2@{host}:{peer.port}/0"
        # It hangs up on whoever has come so far.
        with pytest.raises(redis.ConnectionError):
            connect(f"{url}?ssl_ca_certs={certificate}" if own else url)
    assert any(heard) == fits
