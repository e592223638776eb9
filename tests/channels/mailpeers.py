"""Mail servers that say what a test tells them to, line by line."""

import socket
import ssl
from collections.abc import Callable, Mapping

from .peers import Serve

Reply = bytes | Callable[[socket.socket], bytes]
REPLIES: dict[str, Reply] = {
    "EHLO": b"250-peer\r\n250 SIZE 1000000\r\n",
    "HELO": b"250 peer\r\n",
    "STAR": b"220 go\r\n",
    "AUTH": b"235 welcome\r\n",
    "RSET": b"250 ok\r\n",
    "MAIL": b"250 ok\r\n",
    "RCPT": b"250 ok\r\n",
    "DATA": b"354 go\r\n",
    ".": b"250 2.0.0 Ok: queued as 4ABC12\r\n",
}


def mail_server(
    replies: Mapping[str, Reply] | None = None,
    greeting: bytes = b"220 peer\r\n",
    tls: ssl.SSLContext | None = None,
    heard: list[bytes] | None = None,
) -> Serve:
    """Answers each command by its first four letters; an empty reply hangs up."""
    table: dict[str, Reply] = REPLIES | dict(replies or {})
    lines = [] if heard is None else heard

    def serve(connection: socket.socket) -> None:
        connection.sendall(greeting)
        if _talk(connection, table, lines) == "STAR" and tls is not None:
            with tls.wrap_socket(connection, server_side=True) as secured:
                _talk(secured, table, lines)

    return serve


def _talk(connection: socket.socket, table: Mapping[str, Reply], heard: list[bytes]) -> str:
    """Answer until someone hangs up or TLS begins; the last word heard."""
    word = ""
    with connection.makefile("rb") as stream:
        for line in stream:
            heard.append(line)
            in_data = word == "DATA" and line != b".\r\n"
            word = word if in_data else line[:4].strip().upper().decode("latin-1")
            if in_data:
                continue
            reply = table.get(word, b"500 what?\r\n")
            answer = reply if isinstance(reply, bytes) else reply(connection)
            connection.sendall(answer)
            if word == "DATA" and not answer.startswith(b"354"):
                word = ""
            if not answer or (word == "STAR" and answer.startswith(b"220 go\r\n")):
                break
    return word


def say_nothing(connection: socket.socket) -> bytes:
    """Say nothing until the client hangs up."""
    while connection.recv(65536):
        pass
    return b""
