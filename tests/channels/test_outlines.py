"""Requests go out as requests itself would send them, and are worked out once for each URL."""

from collections.abc import Mapping

import pytest
import requests

from notify.channels import exchange
from notify.channels.exchange import Call, Exchange
from notify.channels.outlines import by_name, check_header, merged, outline

from .peers import OK, Peer, read_request
from .values import sms, sms_settings

USUAL = {"User-Agent": "notify/0.1", "Accept": "*/*", "Accept-Encoding": "identity"}


def sent_by_requests(method: str, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """What a session of its own says to a peer, whatever host stands in the URL."""
    heard: list[bytes] = []

    def serve(connection: object) -> None:
        heard.append(read_request(connection))  # type: ignore[arg-type]
        connection.sendall(OK)  # type: ignore[attr-defined]

    with Peer(serve) as peer, requests.Session() as session:
        session.trust_env = False
        session.headers.clear()
        request = requests.Request(method, url, headers=headers, data=body)
        prepared = session.prepare_request(request)
        adapter = session.get_adapter(url)
        pool = adapter.get_connection_with_tls_context(prepared, verify=True)  # type: ignore[attr-defined]
        pool.ConnectionCls = _to(peer.port, pool.ConnectionCls)
        adapter.send(prepared, timeout=5)
    return heard[0]


def _to(port: int, kind: type) -> type:
    import socket

    class Elsewhere(kind):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            return socket.create_connection(("127.0.0.1", port))

    return Elsewhere


def lines(data: bytes) -> tuple[bytes, set[bytes], bytes]:
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.split(b"\r\n")
    assert len(rest) == len(set(rest))
    return first, set(rest), body


URLS = [
    "http://gateway.example",
    "http://gateway.example/sms?a=b&c=[1]#part",
    "http://gateway.example:8080/a b/é?q=ü&r=a%20b%2Fc",
    "http://Gateway.Example./../a/./b//c",
    "http://gateway.example//two",
    "http://gateway.example:80/",
    "http://user:p%40ss@gateway.example/x",
    "http://[2001:db8::1]:8080/x",
    "http://[2001:DB8::1]/x",
    "http://münchen.example/x",
    "HTTP://gateway.example/%7euser/%zz",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(("method", "body"), [("POST", b'{"a":1}'), ("put", b""), ("GET", b"")])
def test_the_same_as_requests_sends(url: str, method: str, body: bytes) -> None:
    further = {"Idempotency-Key": "a-1", "accept": "text/plain"}
    request = merged(by_name(USUAL), [further], outline(method, url), body)
    theirs = sent_by_requests(method, url, {**USUAL, **further, "Accept": "text/plain"}, body)
    first, headers, content = lines(request.head() + request.body)
    wanted = lines(theirs)
    assert first == wanted[0]
    assert {line.lower() for line in headers} == {line.lower() for line in wanted[1]}
    assert content == wanted[2]


def test_later_headers_prevail_and_those_of_the_url_over_all() -> None:
    usual = by_name({"Authorization": "Bearer x", "Accept": "a", "X-Twice": "1"})
    drawn = outline("POST", "http://user:word@h.example/")
    request = merged(usual, [{"accept": "b"}, {"ACCEPT": "c", "x-twice": "2"}], drawn, b"x")
    assert list(request.headers.values()) == [
        ("Authorization", "Basic dXNlcjp3b3Jk"),
        ("ACCEPT", "c"),
        ("x-twice", "2"),
        ("Content-Length", "1"),
    ]
    assert "word" not in repr(request)


def test_a_host_of_ones_own_is_the_only_one() -> None:
    request = merged({}, [{"host": "other.example"}], outline("POST", "http://h.example/"), b"")
    assert request.head().lower().count(b"host:") == 1
    assert b"host: other.example\r\n" in request.head()


@pytest.mark.parametrize(
    "value", ["a\r\nX: y", "a\n", "a\r", " a", "\ta", "a\x00b", "a\n b", "\x0b", "a\ud800"]
)
def test_a_value_that_would_be_more_than_one_is_none(value: str) -> None:
    with pytest.raises(ValueError, match="not a header"):
        check_header("X", value)
    with pytest.raises(ValueError, match="not a header"):
        merged({}, [{"X": value}], outline("POST", "http://h.example/"), b"")


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\n", "ä", " a", "a\x00"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="not a header"):
        check_header(name, "a")


@pytest.mark.parametrize("value", ["", "a", "a b ", "Bearer ü", "您好", "a\tb"])
def test_values_that_can_be_sent(value: str) -> None:
    check_header("X-Any", value)


@pytest.mark.parametrize("url", ["http://", "http:///x", "nowhere", "http://h:port/", "http://*x/"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ValueError):
        outline("POST", url)


def test_a_url_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def noting(method: str, url: str, proxied: Mapping[str, str] | None = None) -> object:
        drawn.append(url)
        return outline(method, url, proxied)

    monkeypatch.setattr("notify.channels.exchange.outline", noting)
    one = Exchange(sms_settings("http://h.example/"))
    for number in range(exchange._OUTLINES + 10):
        for _ in range(2):
            url = f"http://h.example/{number}"
            one._prepare(Call(notification=sms(), url=url), lambda body: {})
    assert len(drawn) == exchange._OUTLINES + 10
    assert one._outline.cache_info().currsize == exchange._OUTLINES
