"""Through a proxy: only by configuration, and past no check."""

import logging
import ssl
from base64 import b64encode
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from notify.channels import Provider, build_provider
from notify.channels.ways import parse_proxy
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure

from .peers import OK, Peer, answering, drip, reading, refused_port
from .proxies import Proxying
from .test_addresses import Resolver
from .values import failure, hook, hook_settings, kind, sms, sms_settings

USER, PASSWORD = "proxy-user", "p@ss:w/rd"
BASIC = b64encode(f"{USER}:{PASSWORD}".encode())
ESTABLISHED = b"HTTP/1.1 200 OK\r\n\r\n"


def _url(peer: Peer) -> str:
    return f"http://{USER}:p%40ss%3Aw%2Frd@127.0.0.1:{peer.port}"


@pytest.fixture
def ca_file(certificate: tuple[Path, Path]) -> str:
    return str(certificate[0])


def test_reading_the_address_of_a_proxy() -> None:
    plain = parse_proxy("http://proxy.example:3128")
    assert plain is not None
    assert (plain.host, plain.port, plain.credentials, plain.headers) == (
        "proxy.example",
        3128,
        None,
        {},
    )
    secret = parse_proxy(f"http://{USER}:p%40ss%3Aw%2Frd@[::1]")
    assert secret is not None
    assert (secret.host, secret.port, secret.credentials) == ("::1", 80, (USER, PASSWORD))
    assert PASSWORD not in repr(secret)
    assert parse_proxy(None) is None


def test_a_gateway_over_plain_http() -> None:
    with Peer(answering(OK, OK)) as target, Peer(Proxying(target.port)) as peer:
        provider = build_provider(sms_settings("http://gateway.test/sms?a=b", proxy=_url(peer)))
        for _ in range(2):
            assert provider.send(sms(), deadline=5).code == "200"
        (heard,) = peer._serve.heard  # type: ignore[attr-defined]
    assert heard.startswith(b"POST http://gateway.test/sms?a=b HTTP/1.1\r\n")
    assert b"\r\nHost: gateway.test\r\n" in heard
    assert b"\r\nProxy-Authorization: Basic " + BASIC + b"\r\n" in heard


def test_a_gateway_over_tls_is_asked_for_by_name(server_tls: ssl.SSLContext, ca_file: str) -> None:
    """Inside a network without a resolver for the internet, only the proxy knows the name."""
    with (
        Peer(answering(OK, OK), server_tls) as target,
        Peer(Proxying(target.port)) as peer,
    ):
        settings = sms_settings("https://hooks.test/sms", proxy=_url(peer), ca_file=ca_file)
        provider = build_provider(settings)
        for _ in range(2):
            assert provider.send(sms(), deadline=5).code == "200"
        (heard,) = peer._serve.heard  # type: ignore[attr-defined]
    assert heard.startswith(b"CONNECT hooks.test:443 HTTP/1.1\r\nHost: hooks.test:443\r\n")
    assert b"\r\nProxy-Authorization: Basic " + BASIC + b"\r\n" in heard


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_webhook_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, server_tls: ssl.SSLContext, ca_file: str, address: str
) -> None:
    with Peer(answering(OK), server_tls) as target, Peer(Proxying(target.port)) as peer:
        resolver = Resolver(monkeypatch, [address])
        provider = build_provider(hook_settings(proxy=_url(peer), ca_file=ca_file))
        provider.send(hook("https://hooks.test/x"), deadline=5)
        (heard,) = peer._serve.heard  # type: ignore[attr-defined]
    place = f"[{address}]:443" if ":" in address else f"{address}:443"
    assert heard.startswith(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n".encode())
    assert resolver.asked == 1


def test_the_certificate_is_checked_against_the_host(
    monkeypatch: pytest.MonkeyPatch, server_tls: ssl.SSLContext, ca_file: str
) -> None:
    with Peer(answering(OK), server_tls) as target, Peer(Proxying(target.port)) as peer:
        Resolver(monkeypatch, ["127.0.0.1"])
        provider = build_provider(hook_settings(proxy=_url(peer), ca_file=ca_file))
        error = failure(provider, hook("https://other.test/x"), deadline=5)
    assert kind(error) == (TemporaryFailure, Reason.TLS_WRONG_HOST)


def test_forbidden_addresses_are_forbidden_through_a_proxy_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Resolver(monkeypatch, ["10.0.0.1"])
    with Peer(reading) as peer:
        provider = build_provider(hook_settings(proxy=_url(peer)))
        error = failure(provider, hook("https://inside.test/"))
        assert (*kind(error), error.detail) == (
            PermanentFailure,
            Reason.ADDRESS_FORBIDDEN,
            "address not allowed",
        )
        plain = failure(provider, hook("http://8.8.8.8/"))
        assert (*kind(plain), plain.detail) == (
            PermanentFailure,
            Reason.ADDRESS_FORBIDDEN,
            "plain http through a proxy cannot be checked",
        )
        assert peer.connections == 0


def _refusing(answer: bytes) -> Any:
    return Proxying(0, refuse=answer)


@pytest.mark.parametrize(
    ("serve", "reason", "detail"),
    [
        (_refusing(b"HTTP/1.1 407 No\r\n\r\n"), Reason.PROVIDER_DENIED, "the proxy answered 407"),
        (_refusing(b"HTTP/1.1 403 No\r\n\r\n"), Reason.PROVIDER_DENIED, "the proxy answered 403"),
        (
            _refusing(b"HTTP/1.1 502 Bad\r\n\r\n"),
            Reason.CONNECTION_FAILED,
            "the proxy answered 502",
        ),
        (_refusing(b"220 mail.example\r\n\r\n"), Reason.CONNECTION_FAILED, "broken off"),
        (_refusing(b"HTTP/1.1 200 OK\r\nX: y"), Reason.CONNECTION_FAILED, "broken off"),
        (_refusing(b"HTTP/1.1 200 " + b"x" * 20_000), Reason.CONNECTION_FAILED, None),
        (reading, Reason.CONNECTION_FAILED, None),
        (drip(b"HTTP/1.1 200 OK-and-so-on" * 10), Reason.CONNECTION_FAILED, None),
        (drip(b"x" * 100, after=ESTABLISHED), Reason.TLS_FAILED, None),
    ],
)
def test_a_proxy_that_does_not_help(serve: Any, reason: Reason, detail: str | None) -> None:
    started = monotonic()
    with Peer(serve) as peer:
        provider = build_provider(sms_settings("https://gateway.test/", proxy=_url(peer)))
        error = failure(provider, sms(), deadline=0.8)
    assert kind(error) == (TemporaryFailure, reason)
    assert detail is None or error.detail == detail
    assert monotonic() - started < 3


def _providers(proxy: str) -> list[Provider]:
    return [
        build_provider(sms_settings(f"{scheme}://gateway.test/", proxy=proxy))
        for scheme in ("http", "https")
    ]


def test_a_proxys_password_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = f"{USER} {PASSWORD} {BASIC.decode()}".encode()
    answer = b"HTTP/1.1 502 x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with Peer(Proxying(0, refuse=answer)) as peer:
        for url in (_url(peer), _url(peer).replace(str(peer.port), str(refused_port()))):
            settings = sms_settings("http://gateway.test/", proxy=url)
            shown = [repr(settings), *caplog.text.splitlines()]
            for provider in _providers(url):
                error = failure(provider, sms())
                shown += [str(error), repr(error), error.answer]
            assert not [
                text for text in shown for s in (PASSWORD, "p%40ss", BASIC.decode()) if s in text
            ]
