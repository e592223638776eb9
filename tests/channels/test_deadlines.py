import os
import socket
import threading
from collections.abc import Callable
from time import monotonic

import pytest

from notify.channels import connecting
from notify.channels.connecting import connect, trouble
from notify.channels.deadlines import Deadline
from notify.channels.perthread import PerThread

from .peers import Peer, blackhole, reading, refused_port


def test_wakes_a_blocked_read() -> None:
    started = monotonic()
    with (
        Peer(reading) as peer,
        Deadline(0.3) as deadline,
        connect("127.0.0.1", peer.port, deadline) as connection,
    ):
        connection.settimeout(30)
        assert connection.recv(1) == b""
    assert 0.3 <= monotonic() - started < 2


def test_a_socket_guarded_after_the_deadline_is_shut_down_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, Deadline(0) as deadline:
        deadline.guard(ours)
        assert ours.recv(1) == b""


def test_leaves_sockets_alone_once_it_is_left() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with Deadline(0.05) as deadline:
            deadline.guard(ours)
        with Deadline(0.05) as later:
            other, end = socket.socketpair()
            with other, end:
                later.guard(other)
                # Whoever cuts this one off has passed over the first one.
                assert other.recv(1) == b""
        theirs.sendall(b"x")
        assert ours.recv(1) == b"x"


def test_what_is_kept_is_watched_again(open_files: Callable[[], int]) -> None:
    before = open_files()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with Deadline(5) as deadline:
            duplicate = deadline.guard(ours)
        assert open_files() == before + 3
        with Deadline(0.05) as deadline:
            deadline.watch(duplicate)
            assert ours.recv(1) == b""
        with Deadline(0) as deadline:
            deadline.watch(duplicate)  # it is no harm to do it twice
        del duplicate
        assert open_files() == before + 2


def test_keeps_no_descriptor(open_files: Callable[[], int]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        before = open_files()
        for _ in range(200):
            with Deadline(5) as deadline:
                deadline.guard(ours)
        assert open_files() <= before


def test_connecting_to_nobody() -> None:
    with Deadline(5) as deadline, pytest.raises(ConnectionRefusedError) as caught:
        connect("127.0.0.1", refused_port(), deadline)
    assert trouble(caught.value) == "ECONNREFUSED"


def test_connecting_without_an_answer() -> None:
    started = monotonic()
    with blackhole() as port, Deadline(0.3) as deadline, pytest.raises(TimeoutError):
        connect("127.0.0.1", port, deadline)
    assert monotonic() - started < 2


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Peer(reading) as peer, blackhole() as dead, Deadline(1.0) as deadline:
        stream = socket.AF_INET, socket.SOCK_STREAM, 0, ""
        both = [(*stream, ("127.0.0.1", dead)), (*stream, ("127.0.0.1", peer.port))]
        monkeypatch.setattr(connecting, "_look_up", lambda *_: both)
        with connect("two-addresses.example", 1, deadline) as connection:
            assert connection.getpeername() == ("127.0.0.1", peer.port)


def test_unknown_name() -> None:
    with Deadline(5) as deadline, pytest.raises(OSError) as caught:
        connect("nonexistent.invalid", 80, deadline)
    assert trouble(caught.value) == "name lookup failed"


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "nul\x00.example", "a..b.example"])
def test_impossible_name(host: str) -> None:
    with Deadline(5) as deadline, pytest.raises(OSError):
        connect(host, 80, deadline)


def test_a_lookup_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def hang(*_: object, flags: int = 0, **__: object) -> list[object]:
        if not flags:
            release.wait()
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    started = monotonic()
    with Deadline(0.3) as deadline, pytest.raises(TimeoutError):
        connect("slow.example", 80, deadline)
    assert monotonic() - started < 2
    release.set()


def test_each_thread_has_its_own_value() -> None:
    values = PerThread(object)
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(values.get()))
    thread.start()
    thread.join()
    assert values.get() is values.get()
    assert seen[0] is not values.get()


def test_a_forked_process_has_its_own_value(monkeypatch: pytest.MonkeyPatch) -> None:
    values = PerThread(object)
    parents = values.get()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert values.get() is not parents


def test_thousands_of_addresses_end_at_the_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with blackhole() as port:
        found = socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)
        monkeypatch.setattr(connecting, "_look_up", lambda *_: found * 4000)
        started = monotonic()
        with Deadline(0.3) as deadline, pytest.raises(OSError, match="timed out"):
            connect("many.test", port, deadline)
        assert monotonic() - started < 1
