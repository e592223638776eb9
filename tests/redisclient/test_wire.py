"""What one connection relies on in the library and the kernel."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest
import redis

from notify.local import Servers
from notify.redisclient.questions import pack
from notify.redisclient.wire import Wire
from tests.channels.peers import Peer, make_certificate, reading, server_side

pytestmark = pytest.mark.redis
PING = pack("PING")


@pytest.fixture
def wire(servers: Servers) -> Iterator[Wire]:
    opened = Wire(servers.redis_url, 2.0)
    yield opened
    opened.close()


def test_answers_are_texts_numbers_lists_and_refusals(wire: Wire, servers: Servers) -> None:
    database = str(urlsplit(servers.redis_url).path.strip("/") or 0)
    packed = PING + pack("ECHO", "é") + pack("GET", "not there") + pack("LPUSH")
    packed += pack("EVAL", "return {1, 'a', {}, false}", 0) + pack("SELECT", database)
    pong, text, nothing, refusal, several, selected = wire.exchange(packed, 6)
    assert (pong, text, nothing, selected) == ("PONG", "é", None, "OK")
    assert several == [1, "a", [], None]
    assert isinstance(refusal, redis.ResponseError)


def test_errors_have_the_kinds_of_the_library(wire: Wire) -> None:
    (answer,) = wire.exchange(pack("EVALSHA", "0" * 40, 0), 1)
    assert isinstance(answer, redis.exceptions.NoScriptError)


def test_what_is_no_text_breaks_nothing(wire: Wire) -> None:
    assert wire.exchange(pack("ECHO", b"\xff\xfe") + PING, 2) == ["\ufffd\ufffd", "PONG"]


def test_an_answer_larger_than_the_buffer(wire: Wire) -> None:
    large = "x" * 1_000_000
    assert wire.exchange(pack("ECHO", large) + PING, 2) == [large, "PONG"]


def test_numbers_are_sent_as_they_are_written() -> None:
    assert pack("a", 1, 1.5, 0.1, 1e22) == (
        b"*5\r\n$1\r\na\r\n$1\r\n1\r\n$3\r\n1.5\r\n$3\r\n0.1\r\n$5\r\n1e+22\r\n"
    )


def greeting(then: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    """Lets the library greet as it likes, until the first PING."""

    def serve(connection: socket.socket) -> None:
        while (heard := connection.recv(65536)) and heard != PING:
            connection.sendall(b"+OK\r\n" * heard.count(b"*"))
        then(connection)

    return serve


def dripping(connection: socket.socket) -> None:
    """Never silent for long."""
    connection.sendall(b"$1000\r\n")
    for _ in range(1000):
        connection.sendall(b"x")
        Event().wait(0.05)


@pytest.mark.parametrize("then", [reading, dripping])
def test_the_whole_answer_must_come_in_time(then: Callable[[socket.socket], None]) -> None:
    with Peer(greeting(then)) as peer:
        wire = Wire(f"redis://127.0.0.1:{peer.port}/0", 0.3)
        started = time.monotonic()
        with pytest.raises(redis.TimeoutError):
            wire.exchange(PING, 1)
        assert time.monotonic() - started < 3
        wire.close()


def test_who_reads_nothing_does_not_hold_the_sender() -> None:
    done = Event()

    def deaf(_: socket.socket) -> None:
        done.wait(20)

    with Peer(greeting(deaf)) as peer:
        wire = Wire(f"redis://127.0.0.1:{peer.port}/0", 0.3)
        wire._socket.sendall(PING)
        with pytest.raises(redis.TimeoutError):
            wire.exchange(b"x" * 50_000_000, 1)
        done.set()
        wire.close()


def test_an_end_in_the_middle_of_an_answer() -> None:
    with Peer(greeting(lambda connection: connection.sendall(b"$10\r\nabc"))) as peer:
        wire = Wire(f"redis://127.0.0.1:{peer.port}/0", 2.0)
        with pytest.raises(redis.ConnectionError):
            wire.exchange(PING, 1)
        wire.close()


def test_what_is_no_answer_of_redis() -> None:
    with Peer(greeting(lambda connection: connection.sendall(b"HTTP/1.1 400\r\n\r\n"))) as peer:
        wire = Wire(f"redis://127.0.0.1:{peer.port}/0", 2.0)
        with pytest.raises(redis.RedisError):
            wire.exchange(PING, 1)
        wire.close()


def test_tls_works_and_keeps_to_the_time(servers: Servers, tmp_path: Path) -> None:
    """The kernel cannot bound its waits: they are within the library of TLS."""
    silent = Event()
    address = urlsplit(servers.redis_url)
    assert address.hostname and address.port

    def relay(connection: socket.socket) -> None:
        with socket.create_connection((address.hostname, address.port)) as server:
            while heard := connection.recv(65536):
                server.sendall(heard)
                answer = server.recv(65536)
                if not silent.is_set():
                    connection.sendall(answer)

    certificate = make_certificate(tmp_path)
    with Peer(relay, server_side(*certificate)) as peer:
        url = f"rediss://127.0.0.1:{peer.port}/0?ssl_ca_certs={certificate[0]}"
        wire = Wire(url, 0.5)
        assert wire.exchange(PING + PING, 2) == ["PONG", "PONG"]
        silent.set()
        with pytest.raises(redis.TimeoutError):
            wire.exchange(PING, 1)
        wire.close()
