"""Gateways that mean harm: an attempt costs its deadline and a little memory, no more."""

import gzip
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from time import monotonic, sleep

import pytest

from notify.channels import Provider, build_provider
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

from .peers import Peer, read_request, reading, reset_on_close
from .values import failure, hook, kind, sms, sms_settings

DEADLINE = 0.5
MEMORY = 4_000_000
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
BUSY = OK.replace(b"200 OK", b"503 Busy")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BOMB = gzip.compress(b"0" * 200_000_000, 9)
ZIPPED = b"HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB)
MANY = b"x" * 65536

Serve = Callable[[socket.socket], None]


def _endless(head: bytes, part: bytes) -> Serve:
    """``part`` over and over, until the other side has had enough."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head)
        while True:
            connection.sendall(part)

    return serve


def _by_bytes(data: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        read_request(connection)
        for byte in data * 100:
            connection.sendall(bytes([byte]))
            sleep(0.02)

    return serve


def _saying(data: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(data)

    return serve


def _many(name: bytes, part: bytes) -> bytes:
    """As many headers as the standard library reads, each as long as it may be."""
    return (name + part * (65000 // len(part)) + b"\r\n") * 98


HOSTILE = [
    ("silent", reading, (UnknownOutcome, Reason.DEADLINE_PASSED)),
    ("status by bytes", _by_bytes(b"H"), (UnknownOutcome, Reason.DEADLINE_PASSED)),
    (
        "interim answers by bytes",
        _by_bytes(b"HTTP/1.1 100 Continue\r\n\r\n"),
        (UnknownOutcome, Reason.DEADLINE_PASSED),
    ),
    (
        "endless interim answers",
        _endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 1000),
        (UnknownOutcome, Reason.DEADLINE_PASSED),
    ),
    ("endless status", _endless(b"HTTP/1.1 200 ", MANY), (UnknownOutcome, Reason.CONNECTION_LOST)),
    (
        "endless headers",
        _endless(b"HTTP/1.1 503 Busy\r\n", b"X-Many: 1\r\n" * 1000),
        (TemporaryFailure, Reason.PROVIDER_BUSY),
    ),
    (
        "a header of 10 MB",
        _endless(b"HTTP/1.1 503 Busy\r\nX-Long: ", MANY * 160),
        (TemporaryFailure, Reason.PROVIDER_BUSY),
    ),
    (
        "headers as long as they may be",
        _endless(b"HTTP/1.1 503 Busy\r\n", b"X-Long: " + b"x" * 65000 + b"\r\n"),
        (TemporaryFailure, Reason.PROVIDER_BUSY),
    ),
    (
        "6 MB of cookies",
        _saying(b"HTTP/1.1 400 No\r\n" + _many(b"Set-Cookie: ", b"a=b;") + b"\r\n"),
        (PermanentFailure, Reason.REFUSED),
    ),
    (
        "6 MB of times to wait",
        _saying(b"HTTP/1.1 503 Busy\r\n" + _many(b"Retry-After: ", b"1,") + b"\r\n"),
        (TemporaryFailure, Reason.PROVIDER_BUSY),
    ),
    (
        "endless body",
        _endless(b"HTTP/1.1 400 No\r\n\r\n", MANY),
        (PermanentFailure, Reason.REFUSED),
    ),
    (
        "endless chunks",
        _endless(CHUNKED.replace(b"200 OK", b"400 No"), b"10000\r\n" + MANY + b"\r\n"),
        (PermanentFailure, Reason.REFUSED),
    ),
    (
        "a chunk size without an end",
        _endless(CHUNKED.replace(b"200 OK", b"400 No"), b"1" * 65536),
        (PermanentFailure, Reason.REFUSED),
    ),
    (
        "endless trailers",
        _endless(CHUNKED.replace(b"200 OK", b"400 No") + b"0\r\n", b"X: y\r\n" * 1000),
        (PermanentFailure, Reason.REFUSED),
    ),
    ("a gzip bomb", _saying(ZIPPED + BOMB), (PermanentFailure, Reason.REFUSED)),
    (
        "a redirect to the metadata service",
        _saying(
            b"HTTP/1.1 307 X\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
        ),
        (PermanentFailure, Reason.REDIRECTED),
    ),
]


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    yield lambda: tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()


@pytest.mark.parametrize(("name", "serve", "expected"), HOSTILE, ids=[case[0] for case in HOSTILE])
def test_an_attempt_costs_its_deadline_and_a_little_memory(
    hooks: Provider,
    name: str,
    serve: Serve,
    expected: tuple[type[DeliveryFailure], Reason],
    peak: Callable[[], int],
) -> None:
    with Peer(serve) as peer:
        started = monotonic()
        error = failure(hooks, hook(peer.url), deadline=DEADLINE)
        assert monotonic() - started < DEADLINE + 1
        assert peer.connections == 1
    assert kind(error) == expected
    assert peak() < MEMORY
    assert len(error.answer) <= 300


@pytest.mark.parametrize("serve", [reading, _by_bytes(b"\x16\x03\x03\x40\x00")])
def test_tls_that_stalls_in_the_handshake(hooks: Provider, serve: Serve) -> None:
    with Peer(serve) as peer:
        started = monotonic()
        error = failure(hooks, hook(peer.url.replace("http", "https", 1)), deadline=DEADLINE)
        assert monotonic() - started < DEADLINE + 1
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)


class Cutting:
    """Sends one more byte of an answer to each connection than to the one before."""

    def __init__(self, answer: bytes, *, reset: bool) -> None:
        self._answer = answer
        self._reset = reset
        self._sizes = iter(range(len(answer) + 1))

    def __call__(self, connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(self._answer[: next(self._sizes)])
        if self._reset:
            reset_on_close(connection)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("answer", [OK, BUSY])
def test_an_answer_that_breaks_off_at_any_byte(answer: bytes, reset: bool) -> None:
    status_line = answer.index(b"\n") + 1
    with Peer(Cutting(answer, reset=reset)) as peer:
        provider = build_provider(sms_settings(peer.url))
        for size in range(len(answer) + 1):
            outcome = _outcome(provider)
            if size < status_line:
                assert outcome == (UnknownOutcome, Reason.CONNECTION_LOST), size
            elif answer is OK:
                assert outcome == "200", size
            else:
                assert outcome == (TemporaryFailure, Reason.PROVIDER_BUSY), size
        assert peer.connections == len(answer) + 1


def _outcome(provider: Provider) -> object:
    try:
        return provider.send(sms(), deadline=5).code
    except DeliveryFailure as error:
        return kind(error)
