"""HTTP itself: bodies, keep-alive, and what is no HTTP at all."""

import socket

import pytest

from notify.sandbox import Sandbox
from notify.sandbox.wire import MAX_BODY

from .talking import Line, ask, connect, request, send_sms, sms_body


def test_a_chunked_body_is_read_to_its_end(sandbox: Sandbox) -> None:
    with Line.to(sandbox.http_url) as line:
        line.send(b"POST /hook/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        line.send(b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n")
        assert line.until(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
    assert sandbox.received()[0].body == "abcde"


def test_a_client_that_expects_100_is_told_to_go_on(sandbox: Sandbox) -> None:
    with Line.to(sandbox.http_url) as line:
        line.send(b"POST /hook/a HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert line.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.send(b"ok")
        assert line.until(b"\r\n") == b"HTTP/1.1 200 OK\r\n"


def test_a_connection_is_kept_alive(sandbox: Sandbox) -> None:
    connection = connect(sandbox.http_url)
    numbers = []
    ports = set()
    for _ in range(50):
        numbers.append(ask(connection, "POST", "/sms", sms_body("+1")).json()["id"])
        assert isinstance(connection.sock, socket.socket)
        ports.add(connection.sock.getsockname()[1])
    connection.close()
    assert numbers == [f"sms-{number:06}" for number in range(1, 51)]
    assert len(ports) == 1


@pytest.mark.parametrize("head", [b"HTTP/1.0\r\n", b"HTTP/1.1\r\nConnection: close\r\n"])
def test_a_connection_ends_when_the_client_wants_it(sandbox: Sandbox, head: bytes) -> None:
    with Line.to(sandbox.http_url) as line:
        line.send(b"GET /_sandbox/health " + head + b"\r\n")
        assert line.until(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
        assert line.ending() == "closed"


def test_requests_sent_at_once_are_answered_in_turn(sandbox: Sandbox) -> None:
    with Line.to(sandbox.http_url) as line:
        one = b"POST /hook/a HTTP/1.1\r\nContent-Length: 1\r\n\r\n"
        line.send(one + b"x" + one + b"y")
        assert line.until(b"}").count(b"webhook-000001") == 1
        assert line.until(b"}").count(b"webhook-000002") == 1
    assert [item.body for item in sandbox.received()] == ["x", "y"]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST /sms HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST /sms HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /sms HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"POST /sms HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"POST /sms HTTP/1.1\r\nA: " + b"x" * 70_000, b"431"),
    ],
)
def test_what_is_not_http_is_refused_and_hung_up_on(
    sandbox: Sandbox, data: bytes, status: bytes
) -> None:
    with Line.to(sandbox.http_url) as line:
        line.send(data)
        assert line.until(b"\r\n").split()[1] == status
        assert line.ending() == "closed"


def test_a_body_over_the_limit_is_refused(sandbox: Sandbox) -> None:
    reply = request(sandbox.http_url, "POST", "/hook/a", bytes(MAX_BODY + 1))
    assert reply.status == 413
    assert request(sandbox.http_url, "POST", "/hook/a", bytes(MAX_BODY)).status == 200
    assert [len(item.body) for item in sandbox.received()] == [MAX_BODY]


def test_a_chunked_body_over_the_limit_is_refused(sandbox: Sandbox) -> None:
    chunk = b"%x\r\n" % (MAX_BODY // 2) + bytes(MAX_BODY // 2) + b"\r\n"
    with Line.to(sandbox.http_url) as line:
        line.send(b"POST /hook/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        line.send(chunk + chunk + b"1\r\nx\r\n")
        assert line.until(b"\r\n").split()[1] == b"413"


def test_a_client_that_goes_away_disturbs_nobody(sandbox: Sandbox) -> None:
    with Line.to(sandbox.http_url) as line:
        line.send(b"POST /sms HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf")
    assert send_sms(sandbox.http_url, "+1").status == 200
    assert len(sandbox.received()) == 1
