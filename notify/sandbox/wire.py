"""HTTP/1.1 as bytes: reading requests from a socket and encoding responses."""

import json
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from socket import SHUT_WR, SO_LINGER, SOL_SOCKET, socket
from typing import Final
from urllib.parse import unquote

MAX_BODY: Final = 20 * 1024 * 1024
MAX_HEAD: Final = 64 * 1024
_CHUNK: Final = 256 * 1024
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_LINGER_SECONDS: Final = 5.0


class Refused(Exception):
    """A request that is answered with an error of HTTP itself."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Head:
    """A request without its body. Header names are lower case."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    keep_alive: bool


class Reader:
    """Takes bytes from a connection in the pieces the protocol asks for."""

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def until(self, mark: bytes) -> bytes | None:
        """Return what comes before a mark; None if the other side has closed."""
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise Refused(431, "the head of the request is too long")
            if not self._fill():
                return None
        found = self.exactly(end)
        del self._buffer[: len(mark)]
        return found

    def exactly(self, size: int) -> bytes:
        """Return this many bytes."""
        while len(self._buffer) < size:
            if not self._fill():
                raise ConnectionResetError("closed in the middle of a request")
        found = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return found

    def _fill(self) -> bool:
        data = self._connection.recv(_CHUNK)
        self._buffer += data
        return bool(data)


def read_head(reader: Reader) -> Head | None:
    """Read the next request's head; None when the client is done."""
    data = reader.until(b"\r\n\r\n")
    return None if data is None else _parse_head(data.decode("latin-1"))


def _parse_head(text: str) -> Head:
    first, *lines = text.lstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "malformed request line")
    path, _, query = words[1].partition("?")
    headers = _parse_headers(lines)
    keep_alive = words[2] != "HTTP/1.0" and headers.get("connection", "").lower() != "close"
    path = unquote(path) if "%" in path else path
    return Head(method=words[0], path=path, query=query, headers=headers, keep_alive=keep_alive)


def _parse_headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise Refused(400, "malformed header")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def read_body(reader: Reader, connection: socket, head: Head) -> bytes:
    """Read a request's body, however its length is announced."""
    chunked = head.headers.get("transfer-encoding", "").lower() == "chunked"
    size = 0 if chunked else _length(head.headers.get("content-length", "0"))
    if head.headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return _read_chunks(reader) if chunked else reader.exactly(size)


def _length(value: str, base: int = 10) -> int:
    try:
        size = int(value, base)
    except ValueError:
        size = -1
    if size < 0:
        raise Refused(400, "malformed length")
    if size > MAX_BODY:
        raise Refused(413, f"the body is longer than {MAX_BODY} bytes")
    return size


def _read_chunks(reader: Reader) -> bytes:
    body = bytearray()
    while size := _length(_line(reader).partition(";")[0], 16):
        body += reader.exactly(size)
        _length(str(len(body)))
        _line(reader)
    while _line(reader):
        pass
    return bytes(body)


def _line(reader: Reader) -> str:
    line = reader.until(b"\r\n")
    if line is None:
        raise ConnectionResetError("closed in the middle of a chunked body")
    return line.decode("latin-1")


def encode_response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """Return a whole response; a given header replaces the one it would get."""
    fields = {"content-type": "application/json", "content-length": str(len(body))}
    if status in (204, 304):
        fields, body = {}, b""
    fields.update({name.lower(): value for name, value in (headers or {}).items()})
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in fields.items())
    start = f"HTTP/1.1 {status} {_PHRASES.get(status, 'Scripted')}\r\n"
    return f"{start}{lines}\r\n".encode("latin-1") + body


def encode_json(data: object, status: int = 200) -> bytes:
    """Return a whole JSON response."""
    return encode_response(status, json.dumps(data).encode())


def refuse(connection: socket, refusal: Refused) -> None:
    """Answer with an error and hang up, letting the client finish what it is sending."""
    body = json.dumps({"error": str(refusal)}).encode()
    connection.sendall(encode_response(refusal.status, body, {"connection": "close"}))
    connection.shutdown(SHUT_WR)
    connection.settimeout(_LINGER_SECONDS)
    with suppress(OSError):
        while connection.recv(_CHUNK):
            pass


def reset(connection: socket) -> None:
    """Close a connection with a TCP reset."""
    connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
