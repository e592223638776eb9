"""A proxy that does what it is told, and notes what it was told."""

import socket
from contextlib import suppress
from threading import Thread

from .peers import read_request


class Proxying:
    """Serves CONNECT and plain requests; ``leads_to`` is where all of them go."""

    def __init__(self, leads_to: int, refuse: bytes = b"") -> None:
        self.heard: list[bytes] = []
        self._leads_to = leads_to
        self._refuse = refuse

    def __call__(self, connection: socket.socket) -> None:
        request = read_request(connection)
        self.heard.append(request)
        if self._refuse:
            connection.sendall(self._refuse)
            return
        with socket.create_connection(("127.0.0.1", self._leads_to)) as target:
            if request.startswith(b"CONNECT "):
                connection.sendall(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n")
            else:
                target.sendall(request)
            back = Thread(target=_pump, args=(target, connection))
            back.start()
            _pump(connection, target)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
