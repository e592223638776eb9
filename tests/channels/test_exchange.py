import gzip
import socket
from collections.abc import Callable
from time import monotonic

import pytest

from notify.channels import Provider
from notify.channels.exchange import Call, Exchange
from notify.outcomes import (
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.sandbox import Answer, Sandbox

from .peers import (
    OK,
    Peer,
    answering,
    blackhole,
    drip,
    read_request,
    reading,
    refused_port,
    reset_after_reading,
)
from .values import failure, hook, kind, sms, sms_settings

CLOSE = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}"


def _bad_status_line(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"220 mail.example ESMTP\r\n")


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        (reading, Reason.DEADLINE_PASSED),
        (drip(b"HTTP/1.1 200 OK-and-a-long-reason"), Reason.DEADLINE_PASSED),
        (drip(b"x" * 100, after=b"HTTP/1.1 100 Continue\r\n"), Reason.DEADLINE_PASSED),
        (read_request, Reason.CONNECTION_LOST),
        (reset_after_reading, Reason.CONNECTION_LOST),
        (_bad_status_line, Reason.CONNECTION_LOST),
        (lambda connection: connection.recv(1), Reason.CONNECTION_LOST),
    ],
)
def test_no_answer_after_the_request_is_unknown(
    hooks: Provider, serve: Callable[[socket.socket], None], reason: Reason
) -> None:
    started = monotonic()
    with Peer(serve) as peer:
        error = failure(hooks, hook(peer.url), deadline=0.4)
    assert kind(error) == (UnknownOutcome, reason)
    assert monotonic() - started < 2


def test_a_request_that_nobody_reads_is_unknown(hooks: Provider) -> None:
    def serve(_: socket.socket) -> None:
        peer.closing.wait()

    with Peer(serve) as peer:
        error = failure(hooks, hook(peer.url, data="x" * 15_000_000), deadline=0.4)
    assert kind(error) == (UnknownOutcome, Reason.DEADLINE_PASSED)


@pytest.mark.parametrize(
    "serve",
    [
        drip(b"x" * 100, after=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"),
        drip(b"X-Slow: " + b"x" * 100, after=b"HTTP/1.1 200 OK\r\n"),
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbroken off"),
        answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n"),
        answering(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip"),
        answering(b"HTTP/1.1 200 OK\r\n" + b"X-Many: 1\r\n" * 5000 + b"\r\n{}"),
        answering(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n{}"),
        answering(b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n{}"),
        answering(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + CLOSE),
        answering(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + CLOSE),
        answering(b"HTTP/1.1 204 No Content\r\n\r\n"),
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 9_000_000),
    ],
)
def test_a_success_counts_whatever_follows_its_status(
    hooks: Provider, serve: Callable[[socket.socket], None], caplog: pytest.LogCaptureFixture
) -> None:
    started = monotonic()
    with Peer(serve) as peer:
        receipt = hooks.send(hook(peer.url), deadline=0.4)
    assert receipt.code in ("200", "204")
    assert monotonic() - started < 2
    assert "/hook" not in "".join(r.getMessage() for r in caplog.records if r.levelno > 10)


def test_endless_headers_do_not_hold_us(hooks: Provider) -> None:
    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 503 Busy\r\n")
        while not peer.closing.is_set():
            connection.sendall(b"X-Many: 1\r\n" * 100)

    with Peer(serve) as peer:
        error = failure(hooks, hook(peer.url), deadline=0.4)
    assert kind(error) == (TemporaryFailure, Reason.PROVIDER_BUSY)


def test_a_gzip_bomb_is_not_inflated(hooks: Provider) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n"
    with Peer(answering(head.encode() + bomb)) as peer:
        started = monotonic()
        assert hooks.send(hook(peer.url), deadline=2).code == "200"
    assert monotonic() - started < 2


def test_never_sent_is_temporary(hooks: Provider) -> None:
    expected = TemporaryFailure, Reason.CONNECTION_FAILED
    assert kind(failure(hooks, hook(f"http://127.0.0.1:{refused_port()}/"))) == expected
    assert kind(failure(hooks, hook("http://nonexistent.invalid/"))) == expected
    assert kind(failure(hooks, hook("http://" + "a" * 64 + ".example/"))) in (
        expected,
        (PermanentFailure, Reason.REFUSED),
    )
    started = monotonic()
    with blackhole() as port:
        error = failure(hooks, hook(f"http://127.0.0.1:{port}/"), deadline=0.3)
    assert kind(error) == expected
    assert error.detail == "timed out"
    assert monotonic() - started < 2


def test_a_host_that_cannot_be_encoded_is_refused(hooks: Provider) -> None:
    error = failure(hooks, hook("http://☕..example/"))
    assert kind(error) == (PermanentFailure, Reason.REFUSED)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(hooks: Provider, status: int) -> None:
    with Peer(answering(OK)) as target:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n"
        with Peer(answering(head.encode())) as peer:
            error = failure(hooks, hook(peer.url))
        assert kind(error) == (PermanentFailure, Reason.REDIRECTED)
        assert target.connections == 0


def test_retry_after_reaches_the_failure(hooks: Provider, sandbox: Sandbox) -> None:
    sandbox.script("/hook/1", Answer(status=429, retry_after="120"))
    error = failure(hooks, hook(f"{sandbox.http_url}/hook/1"))
    assert (error.reason, error.retry_after) == (Reason.PROVIDER_BUSY, 120.0)


def test_what_cannot_be_signed_is_no_fault_of_the_url(sandbox: Sandbox) -> None:
    def sign(body: bytes) -> dict[str, str]:
        raise ValueError("broken")

    one = Exchange(sms_settings(sandbox.http_url))
    call = Call(notification=sms(), url=sandbox.http_url)
    with pytest.raises(ValueError, match="broken"):
        one.send(call, deadline=2, sign=sign)


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\ud800"])
def test_a_header_that_cannot_be_sent_is_refused_before_anything_is(value: str) -> None:
    with Peer(answering(OK)) as peer:
        one = Exchange(sms_settings(peer.url))
        call = Call(notification=sms(), url=peer.url, headers={"X": value})
        with pytest.raises(PermanentFailure) as caught:
            one.send(call, deadline=2)
        assert caught.value.reason is Reason.REFUSED
        assert peer.connections == 0
