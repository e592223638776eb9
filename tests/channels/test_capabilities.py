"""What a mail server says that it takes is what it gets."""

import ssl
from base64 import b64decode
from email import message_from_bytes
from typing import Any

import pytest
from pydantic import SecretStr

from notify.channels import Provider, build_provider
from notify.channels.composing import preview
from notify.channels.mail import SmtpMail
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure
from notify.sandbox import Sandbox

from .mailpeers import mail_server
from .peers import Peer
from .test_letters import NOW
from .values import TEXTS, failure, kind, mail, mail_settings


def offering(*capabilities: str) -> dict[str, Any]:
    lines = ["peer", *capabilities]
    text = "".join(f"250-{line}\r\n" for line in lines[:-1]) + f"250 {lines[-1]}\r\n"
    return {"EHLO": text.encode()}


def said(heard: list[bytes], word: bytes) -> bytes:
    (line,) = [line for line in heard if line.startswith(word)]
    return line


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("offered", [True, False])
def test_eight_bits_go_to_servers_that_take_them(text: str, offered: bool) -> None:
    heard: list[bytes] = []
    capabilities = ("8BITMIME",) if offered else ("SIZE",)
    with Peer(mail_server(offering(*capabilities), heard=heard)) as peer:
        build_provider(mail_settings(peer.port)).send(mail(body=text, subject=text), deadline=2)
    assert (b" BODY=8BITMIME" in said(heard, b"MAIL")) is offered
    assert (f"{text}\r\n".encode() in heard) is offered
    head, _, _ = b"".join(heard).partition(b"\r\n\r\n")
    assert head.isascii()
    assert not any(b"SMTPUTF8" in line for line in heard)


@pytest.mark.parametrize("capabilities", [(), ("8BITMIME",), ("8BITMIME", "SMTPUTF8", "SIZE")])
def test_plain_mails_ask_for_nothing(capabilities: tuple[str, ...]) -> None:
    heard: list[bytes] = []
    with Peer(mail_server(offering(*capabilities), heard=heard)) as peer:
        build_provider(mail_settings(peer.port)).send(mail(), deadline=2)
    line = said(heard, b"MAIL")
    assert (b"SMTPUTF8" in line, b"BODY" in line) == (False, False)
    assert (b" SIZE=" in line) is ("SIZE" in capabilities)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_sent_in_eight_bits_arrives(mails: Provider, sandbox: Sandbox, text: str) -> None:
    body = f"{text}\n.\n..{text}\n\n  {text}  \n" + "é" * 400
    mails.send(mail(body=body), deadline=2)
    raw = b64decode(sandbox.received()[0].raw or "")
    message = message_from_bytes(raw)
    assert message["Content-Transfer-Encoding"] == "8bit"
    assert message.get_payload(decode=True) == f"{body}\n".replace("\n", "\r\n").encode()


@pytest.mark.parametrize("text", ["é" * 500, "a\x0bé", "é\x7f"])
def test_what_cannot_go_in_eight_bits_is_encoded(
    mails: Provider, sandbox: Sandbox, text: str
) -> None:
    mails.send(mail(body=text), deadline=2)
    message = message_from_bytes(b64decode(sandbox.received()[0].raw or ""))
    assert message["Content-Transfer-Encoding"] == "base64"
    assert message.get_payload(decode=True) == f"{text}\r\n".encode()


@pytest.mark.parametrize("capabilities", [(), ("8BITMIME",), ("SMTPUTF8",)])
def test_addresses_outside_ascii_need_both(capabilities: tuple[str, ...]) -> None:
    heard: list[bytes] = []
    with Peer(mail_server(offering(*capabilities), heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        error = failure(provider, mail(recipient="jlópez@example.mx"))
        assert kind(error) == (PermanentFailure, Reason.RECIPIENT_REFUSED)
        assert not [line for line in heard if line.startswith(b"MAIL")]
        provider.send(mail(), deadline=2)
        assert peer.connections == 1


def test_addresses_outside_ascii_are_announced() -> None:
    heard: list[bytes] = []
    with Peer(mail_server(offering("8BITMIME", "SMTPUTF8"), heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        provider.send(mail(recipient="jlópez@bücher.example"), deadline=2)
    assert said(heard, b"MAIL").endswith(b" BODY=8BITMIME SMTPUTF8\r\n")
    assert said(heard, b"RCPT").endswith("<jlópez@xn--bcher-kva.example>\r\n".encode())


@pytest.mark.parametrize(
    ("limit", "taken"),
    [("", True), (" 0", True), (" 99999", True), (" 100", False), (" many", True), (" -1", True)],
)
def test_what_is_larger_than_the_server_takes_is_not_offered(limit: str, taken: bool) -> None:
    heard: list[bytes] = []
    with Peer(mail_server(offering(f"SIZE{limit}"), heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        if taken:
            provider.send(mail(id="a"), deadline=2)
            size = len(preview(mail(id="a"), mail_settings(25), NOW))
            assert f" SIZE={size}\r\n".encode() in said(heard, b"MAIL")
            return
        error = failure(provider, mail(id="a"))
    assert kind(error) == (PermanentFailure, Reason.REFUSED)
    size = len(preview(mail(id="a"), mail_settings(25), NOW))
    assert error.detail == f"the mail has {size} bytes, the server takes 100"
    assert not [line for line in heard if line.startswith(b"MAIL")]


def test_capabilities_are_read_again_over_tls(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    """What was said before TLS may have been said by somebody else (RFC 3207)."""
    answers = iter(
        [offering("STARTTLS", "8BITMIME", "SMTPUTF8", "SIZE 10")["EHLO"], offering("SIZE")["EHLO"]]
    )
    heard: list[bytes] = []
    serve = mail_server({"EHLO": lambda _: next(answers)}, tls=server_tls, heard=heard)
    with Peer(serve) as peer:
        provider = SmtpMail(mail_settings(peer.port, security="starttls"), client_tls)
        provider.send(mail(body="文"), deadline=2)
    assert b"BODY" not in said(heard, b"MAIL")


def test_nobody_logs_in_before_tls() -> None:
    heard: list[bytes] = []
    login: dict[str, Any] = {"username": "notify", "password_file": SecretStr("hunter2")}
    with Peer(mail_server(offering("AUTH PLAIN LOGIN"), heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port, security="starttls", **login))
        assert kind(failure(provider, mail())) == (TemporaryFailure, Reason.TLS_FAILED)
    assert not [line for line in heard if line.upper().startswith(b"AUTH")]


@pytest.mark.parametrize("length", [77, 997, 998, 999, 3000, 100_000])
@pytest.mark.parametrize("sign", ["x", "é", "文"])
def test_no_line_is_longer_than_a_server_must_take(
    mails: Provider, sandbox: Sandbox, length: int, sign: str
) -> None:
    html = f"<p>{sign * length}</p>"
    mails.send(mail(html=html), deadline=5)
    raw = b64decode(sandbox.received()[0].raw or "")
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    part: Any = [*message_from_bytes(raw).walk()][2]
    assert part.get_payload(decode=True) == f"{html}\r\n".encode()
