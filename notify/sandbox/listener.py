"""A port on this machine and a thread for each of its connections."""

import os
from collections.abc import Callable
from contextlib import suppress
from socket import IPPROTO_TCP, SHUT_RD, SHUT_RDWR, TCP_NODELAY, create_server, socket
from threading import Event, Lock, Thread
from typing import Final

from notify.errors import Unavailable

HOST: Final = "127.0.0.1"
BACKLOG: Final = 1024


def open_port(port: int) -> socket:
    """Listen on a port of this machine only; 0 takes a free one."""
    try:
        return create_server((HOST, port), backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Unavailable(f"cannot listen on {HOST}:{port}: {reason}") from error


class Listener:
    """Serves each connection in a thread of its own until it is closed."""

    def __init__(self, port: int, serve: Callable[[socket], None]) -> None:
        self._serve = serve
        self._socket = open_port(port)
        self.port: int = self._socket.getsockname()[1]
        self.closing = Event()
        self._accepting = True
        self._lock = Lock()
        self._live: dict[socket, Thread] = {}
        self._acceptor = Thread(target=self._accept, name="sandbox-http", daemon=True)

    def start(self) -> None:
        """Start accepting connections."""
        self._acceptor.start()

    def _accept(self) -> None:
        while self._accepting:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed, or out of file descriptors for now
                self.closing.wait(0.05)
            else:
                self._begin(connection)

    def _begin(self, connection: socket) -> None:
        connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        thread = Thread(target=self._run, args=(connection,), daemon=True)
        with self._lock:
            self._live[connection] = thread
        thread.start()

    def _run(self, connection: socket) -> None:
        try:
            self._serve(connection)
        except OSError:  # the client went away
            pass
        finally:
            with self._lock:
                del self._live[connection]
            connection.close()

    def drain(self) -> None:
        """Stop accepting, answer what was asked already, and hang up then."""
        self._stop(SHUT_RD)

    def close(self) -> None:
        """Stop accepting, hang up on everyone, and wait for the threads."""
        self.closing.set()
        self._stop(SHUT_RDWR)

    def _stop(self, how: int) -> None:
        self._accepting = False
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        self._acceptor.join()
        self._socket.close()
        with self._lock:
            live = dict(self._live)
        for connection in live:
            with suppress(OSError):
                connection.shutdown(how)
        for thread in live.values():
            thread.join()
