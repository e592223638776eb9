"""No failure tells who should have got what: not in its text, not in the log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from notify.channels import Provider, build_provider
from notify.notification import Notification
from notify.outcomes import DeliveryFailure

from .mailpeers import mail_server
from .peers import Peer, answering, blackhole, read_request, reading, refused_port
from .values import (
    ADDRESS,
    PHONE,
    SECRET_TEXT,
    TOKEN,
    failure,
    hook,
    hook_settings,
    mail,
    mail_settings,
    sms,
    sms_settings,
)

PATH_SECRET = "webhook-path-16180"
PRIVATE = [ADDRESS, "ada", "lovelace", PHONE, PHONE[1:], "314159", SECRET_TEXT, TOKEN, PATH_SECRET]
ECHO = f"{ADDRESS} {PHONE} {SECRET_TEXT} {TOKEN}"


def _check(error: DeliveryFailure, caplog: pytest.LogCaptureFixture) -> None:
    logged = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    shown = [str(error), repr(error), error.detail, error.code, *logged]
    found = [secret for secret in PRIVATE for text in shown if secret in text]
    assert not found
    assert error.__suppress_context__ or error.__context__ is None


def _http(port: int, scheme: str = "http") -> Iterator[tuple[Provider, Notification]]:
    url = f"{scheme}://127.0.0.1:{port}/{PATH_SECRET}"
    yield build_provider(sms_settings(url)), sms()
    yield build_provider(hook_settings()), hook(url)


def _echo(status: int) -> bytes:
    body = ECHO.encode()
    head = f"HTTP/1.1 {status} {ECHO}\r\nX-Echo: {ECHO}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("status", [199, 302, 400, 401, 404, 410, 429, 500, 503])
def test_http_answers(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with Peer(answering(_echo(status))) as peer:
        for provider, notification in _http(peer.port):
            _check(failure(provider, notification, deadline=0.3), caplog)


@pytest.mark.parametrize("serve", [reading, read_request, answering(ECHO.encode() + b"\r\n")])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_http_without_an_answer(serve: Any, scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    with Peer(serve) as peer:
        for provider, notification in _http(peer.port, scheme):
            _check(failure(provider, notification, deadline=0.3), caplog)


@contextmanager
def _dead_ports() -> Iterator[list[int]]:
    with blackhole() as port:
        yield [port, refused_port()]


def test_http_without_a_connection(caplog: pytest.LogCaptureFixture) -> None:
    with _dead_ports() as ports:
        for port in ports:
            for provider, notification in _http(port):
                _check(failure(provider, notification, deadline=0.3), caplog)


WORDS = ["EHLO", "MAIL", "RCPT", "DATA", ".", "AUTH", "STAR"]
REPLIES = [(word, code) for word in WORDS for code in (421, 451, 530, 535, 550, 999)]


@pytest.mark.parametrize(("word", "code"), [*REPLIES, ("DATA", 200), ("STAR", 200), ("AUTH", 200)])
def test_mail_replies(word: str, code: int, caplog: pytest.LogCaptureFixture) -> None:
    reply = f"{code} {ECHO}\r\n".encode()
    ehlo = {"EHLO": b"250-peer\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n", "HELO": reply}
    login = {"username": "ada", "password_file": SecretStr(TOKEN)}
    changes: dict[str, Any] = login if word == "AUTH" else {}
    if word == "STAR":
        changes["security"] = "starttls"
    with Peer(mail_server(ehlo | {word: reply})) as peer:
        provider = build_provider(mail_settings(peer.port, **changes))
        _check(failure(provider, mail(), deadline=0.3), caplog)


@pytest.mark.parametrize("greeting", [f"554 {ECHO}\r\n".encode(), ECHO.encode(), b""])
def test_mail_greetings(greeting: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with Peer(mail_server({"EHLO": b""}, greeting)) as peer:
        provider = build_provider(mail_settings(peer.port))
        _check(failure(provider, mail(), deadline=0.3), caplog)


@pytest.mark.parametrize(
    "recipient", ["ada@a·b.example", "=?ada?=@example.com", "lovelace-ü@example.com"]
)
def test_mail_recipients(recipient: str, caplog: pytest.LogCaptureFixture) -> None:
    with Peer(mail_server()) as peer:
        provider = build_provider(mail_settings(peer.port))
        _check(failure(provider, mail(recipient=recipient)), caplog)
