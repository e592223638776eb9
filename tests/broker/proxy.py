"""A TCP proxy in front of RabbitMQ that can fall silent or cut its connections."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards until told otherwise; ``url`` is the broker's with the proxy's port."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname and parts.port
        self._upstream = parts.hostname, parts.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._requests, self._answers = threading.Event(), threading.Event()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._pumps: list[threading.Thread] = []
        self._after: tuple[bytes, Callable[[], None]] = b"", self.pause
        self.accepted = 0
        port = self._listener.getsockname()[1]
        self.url = parts._replace(netloc=parts.netloc.rpartition(":")[0] + f":{port}").geturl()
        self.flow()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def open(self) -> int:
        """Connections whose client has not closed them."""
        return sum(pump.is_alive() for pump in self._pumps[::2])

    def pause(self, *, requests: bool = True, answers: bool = True) -> None:
        """Holds back what is under way, the end of a connection included."""
        if requests:
            self._requests.clear()
        if answers:
            self._answers.clear()

    def pause_after(self, answer: bytes) -> None:
        """Falls silent when it has forwarded an answer that holds these bytes."""
        self._after = answer, self.pause

    def cut_after(self, answer: bytes) -> None:
        """Resets all connections when it has forwarded an answer that holds these bytes."""
        self._after = answer, self.cut

    def flow(self) -> None:
        """Lets everything through again."""
        self._requests.set()
        self._answers.set()

    def cut(self) -> None:
        """Resets every connection on both sides, and none that comes meanwhile."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                    end.shutdown(socket.SHUT_RD)
                end.close()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        self.cut()
        self.flow()
        for pump in self._pumps:
            pump.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._upstream)
        except OSError:
            client.close()
            return
        self._pairs.append((client, server))
        for source, target, gate in (
            (client, server, self._requests),
            (server, client, self._answers),
        ):
            pump = threading.Thread(target=self._pump, args=(source, target, gate), daemon=True)
            self._pumps.append(pump)
            pump.start()

    def _pump(self, source: socket.socket, target: socket.socket, gate: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                gate.wait()
                target.sendall(data)
                answer, act = self._after
                if answer and answer in data:
                    act()
        gate.wait()
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
