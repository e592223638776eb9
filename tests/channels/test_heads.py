"""Heads of answers, and where bodies end: as the standard library has it, but for what is said."""

import http.client
import io
from dataclasses import dataclass
from typing import Any, cast

import pytest

from notify.channels.heads import LONGEST, Fields, FinalResponse


@dataclass
class Noted:
    status: int | None = None


class Wire:
    """As much of a socket as answers are read from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv_into(self, buffer: memoryview) -> int:
        part, self._data = self._data[: len(buffer)], self._data[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(io.BytesIO(self._data))


def ours(data: bytes, method: str = "POST", noted: Noted | None = None) -> FinalResponse:
    response = FinalResponse(cast("Any", Wire(data)), noted=noted or Noted(), method=method)
    response.begin()
    return response


def theirs(data: bytes, method: str = "POST") -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(cast("Any", Wire(data)), method=method)
    response.begin()
    return response


OK = b"HTTP/1.1 200 OK\r\n"
BODY = b"5\r\nhello\r\n0\r\n\r\n"
ANSWERS = {
    "a length": OK + b"Content-Length: 5\r\n\r\nhello and more",
    "a length of nothing": OK + b"Content-Length: 0\r\n\r\n",
    "no length": OK + b"X: y\r\n\r\nhello",
    "no length and no headers": OK + b"\r\nhello",
    "a length without a number": OK + b"Content-Length: five\r\n\r\nhello",
    "a length below nothing": OK + b"Content-Length: -5\r\n\r\nhello",
    "broken off": OK + b"Content-Length: 50\r\n\r\nhello",
    "chunks": OK + b"Transfer-Encoding: Chunked\r\n\r\n" + BODY,
    "chunks and a length": OK + b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n" + BODY,
    "another encoding": OK + b"Transfer-Encoding: gzip\r\n\r\nhello",
    "closing": OK + b"Connection: Close\r\nContent-Length: 5\r\n\r\nhello",
    "an old server": b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "an old server that stays": b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n"
    b"Connection: Keep-Alive\r\n\r\nhello",
    "a very old server": b"HTTP/0.9 200 OK\r\nKeep-Alive: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a newer server": b"HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "no content": b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    "not modified": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "no reason": b"HTTP/1.1 503\r\nContent-Length: 2\r\n\r\n{}",
    "line feeds only": b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    "spaces": b"HTTP/1.1  200  OK\r\nContent-Length:5 \r\n\r\nhello",
    "after 100": b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
    "a value that is not ASCII": OK + "X: über\r\n".encode("latin-1") + b"\r\nhello",
    "a head that ends early": OK + b"Content-Length: 5\r\n",
}


@pytest.mark.parametrize("data", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_as_the_standard_library_reads_it(data: bytes, method: str) -> None:
    mine, library = ours(data, method), theirs(data, method)
    assert mine.status == library.status
    assert (mine.chunked, mine.length) == (library.chunked, library.length)
    assert mine.will_close == library.will_close
    assert mine.read(3) == library.read(3)
    assert mine.read(100) == library.read(100)
    for name in ("Content-Length", "connection", "X"):
        value = library.getheader(name)
        assert mine.fields.get(name) == (value and value.strip())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n",
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 " + b"x" * LONGEST + b"\r\n\r\n",
    ],
)
def test_what_is_no_status_is_none(data: bytes) -> None:
    noted = Noted()
    with pytest.raises(http.client.HTTPException):
        ours(data, noted=noted)
    assert noted.status is None


@pytest.mark.parametrize(
    "rest",
    [
        b"X: y\r\n" * 101 + b"\r\n",
        b"X: " + b"y" * LONGEST + b"\r\n\r\n",
        (b"X: " + b"y" * 1000 + b"\r\n") * 70 + b"\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    ],
)
def test_a_status_is_noted_whatever_follows(rest: bytes) -> None:
    noted = Noted()
    with pytest.raises(http.client.HTTPException):
        ours(b"HTTP/1.1 503 Busy\r\n" + rest, noted=noted)
    assert noted.status == 503


def test_another_version_is_no_reason_not_to_believe_its_status() -> None:
    noted = Noted()
    with pytest.raises(http.client.UnknownProtocol):
        ours(b"HTTP/2 202 Accepted\r\n\r\n", noted=noted)
    assert noted.status == 202


@pytest.mark.parametrize("status", [100, 102, 103, 199])
def test_interim_answers_are_passed_over(status: int) -> None:
    interim = f"HTTP/1.1 {status} Wait\r\nContent-Length: 7\r\nX: y\r\n\r\n".encode()
    noted = Noted()
    response = ours(interim * 3 + ANSWERS["a length"], noted=noted)
    assert (noted.status, response.read(10)) == (200, b"hello")
    assert "x" not in response.fields


def test_a_connection_that_now_speaks_another_language_is_not_kept() -> None:
    response = ours(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nbabble")
    assert (response.status, response.read(10), response.will_close) == (101, b"", True)


@pytest.mark.parametrize("line", [b"no colon here", b" folded", b"X : y", b": y", b"\xe4: y"])
def test_after_a_line_that_is_no_header_the_connection_is_not_kept(line: bytes) -> None:
    response = ours(OK + b"Content-Length: 5\r\n" + line + b"\r\nRetry-After: 3\r\n\r\nhello")
    assert response.will_close
    assert response.fields["Retry-After"] == "3"
    assert response.read(10) == b"hello"


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 102 Wait\r\nX: y\r\n\r\n"])
def test_what_comes_after_an_answer_ends_the_connection(before: bytes) -> None:
    exact = before + OK + b"Content-Length: 5\r\n\r\nhello"
    for data, last in ((exact, False), (exact + b"!", True)):
        response = ours(data)
        assert response.read(100) == b"hello"
        assert response.is_last is last
    assert ours(ANSWERS["closing"]).is_last
    assert not ours(b"HTTP/1.1 204 No Content\r\n\r\n").is_last


def test_a_length_that_is_said_twice() -> None:
    response = ours(OK + b"Content-Length: 5\r\ncontent-length: 5\r\n\r\nhello and more")
    assert (response.length, response.read(10)) == (5, b"hello")


def test_headers_are_found_in_any_case_and_repeated_ones_are_a_list() -> None:
    fields = ours(OK + b"Retry-After: 3\r\nDate: x\r\nretry-after: 4\r\n\r\n").fields
    assert fields["RETRY-AFTER"] == "3, 4"
    assert fields.get("Location") is None
    assert dict(fields) == {"retry-after": "3, 4", "date": "x"}
    assert len(Fields({})) == 0


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_none_even_if_it_announces_chunks(status: int) -> None:
    """Who waited for them would wait for the deadline."""
    head = b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n" % status
    response = ours(head)
    assert response.read(10) == b""
    assert not response.is_last
    late = ours(head + b"0\r\n\r\n")
    assert late.read(10) == b""
    assert late.is_last


@pytest.mark.parametrize("size", [b"-1", b"-5"])
def test_a_chunk_has_a_size(size: bytes) -> None:
    """With -1 for it, all that ever comes would be taken for one chunk."""
    response = ours(OK + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello and more")
    with pytest.raises(http.client.HTTPException):
        response.read(10)
    assert response.fp.read() == b"hello and more"
