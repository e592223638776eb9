"""Reads answers as the standard library does, without its parser of mails for the headers."""

import http.client
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from socket import socket
from typing import Any, Final, Protocol, cast

# Of the lines before a body: what reads them takes time that no deadline can cut off.
LONGEST: Final = 65536
_MOST: Final = 100
_STATUS: Final = re.compile(rb"\s*HTTP/(\S+)\s+([1-9][0-9]{2})\s")
_VERSION: Final = re.compile(rb"0\.9|1\.[0-9]+")
_FIELD: Final = re.compile(r"([!-9;-~]+):(.*)", re.DOTALL)
_SWITCHED: Final = 101
_EMPTY: Final = (204, 304, _SWITCHED)


class Fields(Mapping[str, str]):
    """The headers of an answer: by a name in any case; repeated ones as a list with commas."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        """``values`` has its names in lower case."""
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Noted(Protocol):
    """Where the status of an answer is noted, as soon as it is there."""

    status: int | None


class _Source(io.RawIOBase):
    """What comes from a socket, and how much of it came."""

    def __init__(self, sock: socket) -> None:
        super().__init__()
        self._receive = sock.recv_into
        self.received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._receive(buffer)
        self.received += size
        return size

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(self)


class FinalResponse(http.client.HTTPResponse):
    """Passes over interim answers, and notes the status as soon as it is there.

    After a head with lines that are no headers, nothing else is read from the connection:
    who knows where that answer ends.
    """

    def __init__(self, sock: socket, *, noted: Noted, method: str) -> None:
        self._source = _Source(sock)
        super().__init__(cast("socket", self._source), method=method)
        self._noted = noted
        self._bare = method == "HEAD"
        self.fields = Fields({})
        # With which byte all of the answer is there, as far as its head says that.
        self._end: int | None = None

    @property
    def is_last(self) -> bool:
        """Whether nothing else can be read from the connection, once this has been.

        More than was announced is nonsense, and must not be taken for the next answer.
        """
        return self.will_close or self._end not in (None, self._source.received)

    def begin(self) -> None:
        """Read the head. Raises ``HTTPException`` or ``OSError``."""
        head = _Head(self.fp)
        size = 0
        while 100 <= head.status <= 199 and head.status != _SWITCHED:
            # Such an answer says that there will be another one: 100, 102, 103.
            head.rest()
            size += head.size
            head = _Head(self.fp)
        self._noted.status = self.status = head.status
        if not _VERSION.fullmatch(head.version):
            raise http.client.UnknownProtocol("another version")
        values, in_order = _parse(head.rest())
        self.fields = Fields(values)
        endless = self._measure(values)
        last = endless or not in_order or head.status == _SWITCHED
        self.will_close = last or not _stays(head.version, values)
        if self.length is not None:
            self._end = size + head.size + self.length

    def _measure(self, values: Mapping[str, str]) -> bool:
        """How long the body is; returns whether only the end of the connection ends it."""
        self.chunked = values.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = None if self.chunked else _length(values.get("content-length", ""))
        if self.status in _EMPTY:
            # Some announce chunks, and send none: who read on would do so until the deadline.
            self.chunked = False
        if self.status in _EMPTY or self._bare:
            self.length = 0
        return not self.chunked and self.length is None

    def _read_next_chunk_size(self) -> int:
        """The inherited one takes -1, which then means all that ever comes."""
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:
            raise http.client.HTTPException("not a size")
        return size


class _Head:
    """The lines of a status with its headers, up to a size. Raises ``HTTPException``."""

    def __init__(self, stream: Any) -> None:
        """The standard library takes a line that broke off for a status, too."""
        line = stream.readline(LONGEST)
        found = _STATUS.match(line)
        if found is None or not line.endswith(b"\n"):
            raise http.client.BadStatusLine("broken off")
        self.version = found[1]
        self.status = int(found[2])
        self._stream = stream
        self.size = len(line)

    def rest(self) -> list[bytes]:
        lines: list[bytes] = []
        while (line := self._line()).strip(b"\r\n"):
            lines.append(line)
            if len(lines) > _MOST:
                raise http.client.HTTPException("too many headers")
        return lines

    def _line(self) -> bytes:
        line: bytes = self._stream.readline(LONGEST)
        self.size += len(line)
        if self.size > LONGEST:
            raise http.client.HTTPException("too many headers")
        return line


def _parse(lines: Iterable[bytes]) -> tuple[dict[str, str], bool]:
    """Headers by their names in lower case, and whether each line was one."""
    values: dict[str, str] = {}
    in_order = True
    for line in lines:
        found = _FIELD.match(line.decode("latin-1"))
        if found is None:
            in_order = False
            continue
        name, value = found[1].lower(), found[2].strip()
        values[name] = f"{values[name]}, {value}" if name in values else value
    return values, in_order


def _length(text: str) -> int | None:
    """The bytes of a body; a length that is said twice must be the same."""
    lengths = {part.strip() for part in text.split(",")}
    if len(lengths) > 1:
        raise http.client.HTTPException("more than one length")
    (only,) = lengths
    return int(only) if only.isascii() and only.isdecimal() else None


def _stays(version: bytes, values: Mapping[str, str]) -> bool:
    """Whether the server keeps the connection open."""
    wishes = values.get("connection", "").lower()
    if version in (b"1.0", b"0.9"):
        return "keep-alive" in values or "keep-alive" in wishes
    return "close" not in wishes
