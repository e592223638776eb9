"""Servers that misbehave in ways the sandbox does not: each connection runs a function."""

import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Self

Serve = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Peer:
    """Listens on this machine while entered."""

    def __init__(self, serve: Serve, tls: ssl.SSLContext | None = None) -> None:
        self._serve = serve
        self._tls = tls
        self._lock = Lock()
        self._open: list[socket.socket] = []
        self._threads: list[Thread] = []
        self.connections = 0
        self.closing = Event()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def _start(self, work: Callable[[], None]) -> None:
        thread = Thread(target=work)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self.closing.is_set():
                connection, _ = self._listener.accept()
                # What is sent right before a reset must not wait for an acknowledgement.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                self._start(lambda connection=connection: self._run(connection))  # type: ignore[misc]

    @contextmanager
    def _held(self, connection: socket.socket) -> Iterator[None]:
        with connection.dup() as held:
            with self._lock:
                self._open.append(held)
            try:
                yield
            finally:
                with self._lock:
                    self._open.remove(held)

    def _run(self, connection: socket.socket) -> None:
        # TLS takes a socket over; the duplicate can still shut it down.
        with suppress(OSError), self._held(connection), connection:
            if self._tls is None:
                self._serve(connection)
                return
            with self._tls.wrap_socket(connection, server_side=True) as secured:
                self._serve(secured)


def read_request(connection: socket.socket) -> bytes:
    """One request with its body; nothing when the client hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(65536)
        if not received:
            return b""
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or b"0")
    while len(body) < size:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answering(*answers: bytes) -> Serve:
    """Answers each request of a connection with the next of these, then hangs up."""

    def serve(connection: socket.socket) -> None:
        for answer in answers:
            if not read_request(connection):
                return
            connection.sendall(answer)

    return serve


def reading(connection: socket.socket) -> None:
    """Reads and says nothing, until the other side hangs up."""
    while connection.recv(65536):
        pass


def make_certificate(
    folder: Path, names: str = "IP:127.0.0.1,DNS:hooks.test", days: int = 2
) -> tuple[Path, Path]:
    """A self-signed certificate and its key; one of -1 days has expired."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    request, extra = folder / "request.pem", folder / "extra"
    extra.write_text(f"subjectAltName={names}\n")
    new = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=peer"
    _run(new, "-keyout", key, "-out", request)
    sign = f"openssl x509 -req -days {days}"
    _run(sign, "-in", request, "-signkey", key, "-extfile", extra, "-out", certificate)
    return certificate, key


def _run(command: str, *files: str | Path) -> None:
    subprocess.run([*command.split(), *map(str, files)], check=True, capture_output=True)


def server_side(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@contextmanager
def blackhole() -> Iterator[int]:
    """A port where connecting never ends: its queue of waiting connections is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            with suppress(BlockingIOError):
                each.connect(listener.getsockname())
        yield listener.getsockname()[1]
        for each in waiting:
            each.close()


def refused_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def drip(data: bytes, after: bytes = b"") -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(after)
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    return serve


def reset_on_close(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def reset_after_reading(connection: socket.socket) -> None:
    read_request(connection)
    reset_on_close(connection)
