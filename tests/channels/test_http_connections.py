import os
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic

import pytest

from notify.channels import Provider, guarded
from notify.channels.webhook import Webhook
from notify.outcomes import (
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.sandbox import Sandbox

from .peers import (
    OK,
    Peer,
    answering,
    drip,
    read_request,
    reading,
    refused_port,
    reset_after_reading,
)
from .values import failure, hook, hook_settings, kind

CLOSE = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}"


def test_a_connection_is_used_again(hooks: Provider) -> None:
    with Peer(answering(*[OK] * 5)) as peer:
        for _ in range(5):
            hooks.send(hook(peer.url), deadline=2)
        assert peer.connections == 1


def test_failures_do_not_cost_the_connection(hooks: Provider) -> None:
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
    with Peer(answering(busy, OK)) as peer:
        failure(hooks, hook(peer.url))
        hooks.send(hook(peer.url), deadline=2)
        assert peer.connections == 1


def test_a_connection_closed_by_the_peer_is_replaced(hooks: Provider) -> None:
    closed = threading.Semaphore(0)

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(OK)
        connection.shutdown(socket.SHUT_RDWR)
        closed.release()

    with Peer(serve) as peer:
        for _ in range(5):
            hooks.send(hook(peer.url), deadline=2)
            closed.acquire()
        assert peer.connections == 5


def test_an_idle_connection_is_not_trusted(
    hooks: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded, "MAX_IDLE", 0.0)
    with Peer(answering(OK, OK)) as peer:
        hooks.send(hook(peer.url), deadline=2)
        hooks.send(hook(peer.url), deadline=2)
        assert peer.connections == 2


def test_the_deadline_holds_on_a_used_connection(hooks: Provider) -> None:
    def serve(connection: socket.socket) -> None:
        answering(OK)(connection)
        drip(b"HTTP/1.1 200 OK-and-so-on")(connection)

    with Peer(serve) as peer:
        hooks.send(hook(peer.url), deadline=2)
        started = monotonic()
        assert failure(hooks, hook(peer.url), deadline=0.3).reason is Reason.DEADLINE_PASSED
        assert monotonic() - started < 2
        assert peer.connections == 1


def test_no_descriptor_is_left_behind(hooks: Provider, open_files: Callable[[], int]) -> None:
    with Peer(answering(*[OK] * 150)) as peer, Peer(reset_after_reading) as broken:
        hooks.send(hook(peer.url), deadline=2)
        before = open_files()
        for _ in range(100):
            hooks.send(hook(peer.url), deadline=2)
            failure(hooks, hook(broken.url))
            failure(hooks, hook(f"http://127.0.0.1:{refused_port()}/"))
        threads = [thread for thread in broken._threads if thread.is_alive()][1:]
        for thread in threads:
            thread.join(5)
        assert open_files() <= before + 2


def test_many_threads_at_once(hooks: Provider, sandbox: Sandbox) -> None:
    url = f"{sandbox.http_url}/hook/many"

    def send() -> None:
        for _ in range(10):
            hooks.send(hook(url), deadline=5)

    threads = [threading.Thread(target=send) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = {item.id for item in sandbox.wait_for(100, 5, "/hook/many")}
    assert len(ids) == 100


def test_a_forked_process_makes_its_own_connection(
    hooks: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Peer(answering(OK, OK)) as peer:
        hooks.send(hook(peer.url), deadline=2)
        monkeypatch.setattr(os, "getpid", lambda: -1)
        hooks.send(hook(peer.url), deadline=2)
        assert peer.connections == 2


def test_a_certificate_that_is_not_trusted(hooks: Provider, server_tls: ssl.SSLContext) -> None:
    with Peer(answering(OK), server_tls) as peer:
        error = failure(hooks, hook(peer.url.replace("http", "https")))
    assert kind(error) == (TemporaryFailure, Reason.TLS_UNTRUSTED)
    assert error.detail == "certificate not verified (18)"


@pytest.mark.parametrize("serve", [answering(CLOSE), lambda c: c.sendall(b"220 hello\r\n")])
def test_a_server_without_tls(hooks: Provider, serve: Callable[[socket.socket], None]) -> None:
    with Peer(serve) as peer:
        error = failure(hooks, hook(peer.url.replace("http", "https")), deadline=0.5)
    assert type(error) is TemporaryFailure
    assert error.reason in (Reason.TLS_FAILED, Reason.CONNECTION_FAILED)


def test_a_handshake_without_an_answer(hooks: Provider) -> None:
    started = monotonic()
    with Peer(reading) as peer:
        error = failure(hooks, hook(peer.url.replace("http", "https")), deadline=0.3)
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert monotonic() - started < 2


def test_tls_works_is_reused_and_obeys_the_deadline(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    def serve(connection: socket.socket) -> None:
        answering(OK, OK)(connection)
        drip(b"HTTP/1.1 200 OK-and-so-on")(connection)

    hooks = Webhook(hook_settings(), client_tls)
    with Peer(serve, server_tls) as peer:
        notification = hook(peer.url.replace("http", "https"))
        for _ in range(2):
            assert hooks.send(notification, deadline=2).code == "200"
        started = monotonic()
        error = failure(hooks, notification, deadline=0.3)
        assert kind(error) == (UnknownOutcome, Reason.DEADLINE_PASSED)
        assert monotonic() - started < 2


def test_the_environment_is_ignored(
    hooks: Provider, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{refused_port()}")
    assert hooks.send(hook(f"{sandbox.http_url}/hook/1"), deadline=2).code == "200"


def test_cookies_are_not_kept(hooks: Provider) -> None:
    seen: list[bytes] = []
    cookie = OK.replace(b"\r\n", b"\r\nSet-Cookie: a=1\r\n", 1)

    def serve(connection: socket.socket) -> None:
        for _ in range(2):
            seen.append(read_request(connection))
            connection.sendall(cookie)

    with Peer(serve) as peer:
        for _ in range(2):
            hooks.send(hook(peer.url), deadline=2)
    assert b"cookie" not in b"".join(seen).lower()


def test_a_request_goes_out_at_once(hooks: Provider) -> None:
    received: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        for _ in range(2):
            received.append(connection.recv(65536))
            connection.sendall(OK)

    with Peer(serve) as peer:
        for _ in range(2):
            hooks.send(hook(peer.url, data={"text": "x"}), deadline=2)
    assert all(request.endswith(b'\r\n\r\n{"text":"x"}') for request in received)


@pytest.mark.parametrize("size", [16_000, 16_384, 17_000, 3_000_000])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_large_request_arrives_whole(
    size: int, scheme: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    received: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        for _ in range(2):
            received.append(read_request(connection))
            connection.sendall(OK)

    text = "".join(f"{number:08}" for number in range(size // 8))
    hooks = Webhook(hook_settings(), client_tls)
    with Peer(serve, server_tls if scheme == "https" else None) as peer:
        for _ in range(2):
            hooks.send(hook(peer.url.replace("http", scheme, 1), data=text), deadline=10)
        assert peer.connections == 1
    assert all(request.endswith(f'\r\n\r\n"{text}"'.encode()) for request in received)


def test_an_answer_before_all_of_the_request_was_read_counts(hooks: Provider) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

    with Peer(serve) as peer:
        error = failure(hooks, hook(peer.url, data="x" * 15_000_000), deadline=5)
    assert kind(error) == (PermanentFailure, Reason.REFUSED)


def test_more_than_was_announced_is_never_taken_for_the_next_answer(hooks: Provider) -> None:
    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(OK + OK.replace(b"200 OK", b"500 No"))
        peer.closing.wait(10)

    with Peer(serve) as peer:
        for _ in range(3):
            assert hooks.send(hook(peer.url), deadline=5).code == "200"
        assert peer.connections == 3


def test_a_few_connections_are_kept_for_a_thread(hooks: Provider) -> None:
    with ExitStack() as running:
        peers = [running.enter_context(Peer(answering(OK, OK))) for _ in range(6)]
        for peer in (*peers, peers[-1]):
            hooks.send(hook(peer.url), deadline=2)
        assert [peer.connections for peer in peers] == [1] * 6
        hooks.send(hook(peers[0].url), deadline=2)
        assert peers[0].connections == 2


def test_a_thread_that_ends_hangs_up(hooks: Provider) -> None:
    hung_up = threading.Event()

    def serve(connection: socket.socket) -> None:
        answering(OK)(connection)
        assert connection.recv(1) == b""
        hung_up.set()

    with Peer(serve) as peer:
        sender = threading.Thread(target=lambda: hooks.send(hook(peer.url), deadline=5))
        sender.start()
        sender.join()
        assert hung_up.wait(10)
