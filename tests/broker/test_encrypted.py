"""Publishing over TLS: the same, though one read may find half of what was sent."""

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from notify.broker import Publisher
from notify.errors import BrokerUnavailable
from tests.broker.rabbit import Rabbit, message, outgoing
from tests.channels.peers import make_certificate, server_side
from tests.deployment import sms

pytestmark = pytest.mark.broker


def forward(client: socket.socket, context: ssl.SSLContext, upstream: tuple[str, int]) -> None:
    with (
        suppress(OSError),
        context.wrap_socket(client, server_side=True) as inner,
        socket.create_connection(upstream) as outer,
    ):
        while True:
            readable, _, _ = select.select([inner, outer], [], [])
            for source, target in ((inner, outer), (outer, inner)):
                if source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    target.sendall(data)


@pytest.fixture
def encrypted(rabbit: Rabbit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The broker's URL with TLS, and a certificate that is trusted."""
    certificate, key = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context, parts = server_side(certificate, key), urlsplit(rabbit.url)
    assert parts.hostname and parts.port
    upstream = parts.hostname, parts.port

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(
                    target=forward, args=(client, context, upstream), daemon=True
                ).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        port = listener.getsockname()[1]
        host = f"{parts.netloc.rpartition(':')[0]}:{port}"
        yield parts._replace(scheme="amqps", netloc=host).geturl()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def publisher(encrypted: str) -> Iterator[Publisher]:
    publisher = Publisher([encrypted])
    yield publisher
    publisher.close()


def test_one_and_many_and_large_ones(rabbit: Rabbit, publisher: Publisher) -> None:
    publisher.publish("notify", message())
    bodies = ["x" * (number % 50 * 2000 + 1) for number in range(500)]
    results = list(publisher.publish_many(outgoing(sms(body)) for body in bodies))
    assert [result.error for result in results] == [None] * 500
    publisher.publish("notify", message(sms("x" * 4_000_000)))
    assert rabbit.depth() == 502


def test_threads_share_the_connection(rabbit: Rabbit, publisher: Publisher) -> None:
    def publish(number: int) -> None:
        publisher.publish("notify", message(sms("x" * (number % 50 * 2000 + 1))))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(publish, range(300)))
    assert rabbit.depth() == 300


def test_a_certificate_that_is_not_trusted(
    encrypted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    other, _ = make_certificate(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(other))
    with pytest.raises(BrokerUnavailable, match="nobody whom we trust"):
        Publisher([encrypted]).publish("notify", message(), timeout=1)
