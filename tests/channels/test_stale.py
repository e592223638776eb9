"""A kept connection that the peer has closed: asked again only if nothing was sent."""

import socket
import ssl
from collections.abc import Callable
from threading import Semaphore

import pytest
from urllib3.util.wait import wait_for_read

from notify.channels import Provider
from notify.channels.guarded import GuardedConnection
from notify.channels.webhook import Webhook
from notify.outcomes import Reason, TemporaryFailure, UnknownOutcome

from .peers import OK, Peer, read_request, reset_on_close
from .values import failure, hook, hook_settings, kind


@pytest.fixture
def too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer closes between our look at a connection and our use of it."""

    def is_connected(connection: GuardedConnection) -> bool:
        assert connection.sock is not None
        assert wait_for_read(connection.sock, timeout=10)
        return True

    monkeypatch.setattr(GuardedConnection, "is_connected", property(is_connected))


@pytest.fixture(params=["http", "https"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def hooks(client_tls: ssl.SSLContext) -> Provider:
    return Webhook(hook_settings(), client_tls)


@pytest.fixture
def serving(
    scheme: str, server_tls: ssl.SSLContext
) -> Callable[[Callable[[socket.socket], None]], Peer]:
    return lambda serve: Peer(serve, server_tls if scheme == "https" else None)


def _url(peer: Peer, scheme: str) -> str:
    return peer.url.replace("http", scheme, 1)


def _answer_then_reset(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(OK)
    reset_on_close(connection)


@pytest.mark.usefixtures("too_late")
def test_nothing_was_sent_so_it_is_sent_on_a_fresh_connection(
    hooks: Provider, serving: Callable[..., Peer], scheme: str
) -> None:
    with serving(_answer_then_reset) as peer:
        for _ in range(4):
            assert hooks.send(hook(_url(peer, scheme)), deadline=5).code == "200"
        assert peer.connections == 4


@pytest.mark.usefixtures("too_late")
def test_the_fresh_connection_may_fail_too(
    hooks: Provider, serving: Callable[..., Peer], scheme: str
) -> None:
    def serve(connection: socket.socket) -> None:
        peer._listener.shutdown(socket.SHUT_RDWR)
        _answer_then_reset(connection)

    with serving(serve) as peer:
        hooks.send(hook(_url(peer, scheme)), deadline=5)
        error = failure(hooks, hook(_url(peer, scheme)), deadline=5)
        assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
        assert peer.connections == 1


@pytest.mark.usefixtures("too_late")
def test_the_kernel_took_it_so_nobody_knows(
    hooks: Provider, serving: Callable[..., Peer], scheme: str
) -> None:
    """Closed in an orderly way, a connection still takes bytes, which may have been read."""
    seen = Semaphore(0)

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(OK)
        seen.release()
        connection.shutdown(socket.SHUT_WR)
        assert peer.closing.wait(10)

    with serving(serve) as peer:
        hooks.send(hook(_url(peer, scheme)), deadline=5)
        error = failure(hooks, hook(_url(peer, scheme)), deadline=5)
        assert kind(error) == (UnknownOutcome, Reason.CONNECTION_LOST)
        assert (peer.connections, seen.acquire(timeout=1)) == (1, True)


def test_a_request_that_was_read_and_then_reset_is_never_repeated(
    hooks: Provider, serving: Callable[..., Peer], scheme: str
) -> None:
    requests: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        requests.append(read_request(connection))
        connection.sendall(OK)
        requests.append(read_request(connection))
        reset_on_close(connection)

    with serving(serve) as peer:
        hooks.send(hook(_url(peer, scheme)), deadline=5)
        error = failure(hooks, hook(_url(peer, scheme)), deadline=5)
        assert type(error) is UnknownOutcome
        assert peer.connections == 1
    assert len(requests) == 2
