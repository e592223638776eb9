import base64
import ssl
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest
from pydantic import SecretStr

from notify.channels import Provider, build_provider, mailline
from notify.channels.mail import SmtpMail
from notify.channels.mailline import MailLine
from notify.channels.maillines import MailLines
from notify.errors import ConfigError
from notify.outcomes import (
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.sandbox import Sandbox
from tests.waiting import eventually

from .mailpeers import mail_server, say_nothing
from .peers import Peer, refused_port
from .values import ADDRESS, failure, kind, mail, mail_settings

AUTH = {"EHLO": b"250-peer\r\n250 AUTH PLAIN LOGIN\r\n"}


def test_a_connection_is_used_again() -> None:
    heard: list[bytes] = []
    with Peer(mail_server(heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(3):
            assert provider.send(mail(), deadline=2).provider_id == "4ABC12"
        assert peer.connections == 1
    assert heard.count(b"rset\r\n") == 2


def test_a_refusal_does_not_cost_the_connection_but_421_does() -> None:
    replies = iter([b"550 no\r\n", b"421 busy\r\n", b"250 ok\r\n"])
    with Peer(mail_server({"RCPT": lambda _: next(replies)})) as peer:
        provider = build_provider(mail_settings(peer.port))
        assert failure(provider, mail()).reason is Reason.RECIPIENT_REFUSED
        assert failure(provider, mail()).reason is Reason.PROVIDER_BUSY
        assert peer.connections == 1
        provider.send(mail(), deadline=2)
        assert peer.connections == 2


def test_a_connection_that_was_given_back_is_not_cut_off_by_the_deadline_of_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread may be using it by then."""
    give_back = MailLines.give_back
    ends: list[float] = []

    def give_back_slowly(self: MailLines, line: MailLine) -> None:
        give_back(self, line)
        eventually(lambda: monotonic() > ends[-1] + 0.1, "the deadline has passed")

    monkeypatch.setattr(MailLines, "give_back", give_back_slowly)
    with Peer(mail_server()) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(2):
            ends.append(monotonic() + 1)
            provider.send(mail(), deadline=1)
        assert peer.connections == 1


@pytest.mark.parametrize("reply", [b"", b"421 bye\r\n", b"500 what?\r\n"])
def test_a_connection_that_is_no_longer_good_is_replaced(reply: bytes) -> None:
    with Peer(mail_server({"RSET": reply})) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(3):
            provider.send(mail(), deadline=2)
        assert peer.connections == 3


def test_a_connection_that_died_silently_leaves_time_for_another() -> None:
    with Peer(mail_server({"RSET": say_nothing})) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(2):
            provider.send(mail(), deadline=1.0)
        assert peer.connections == 2


def test_an_idle_connection_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailline, "MAX_IDLE", 0.0)
    with Peer(mail_server()) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(2):
            provider.send(mail(), deadline=2)
        assert peer.connections == 2


def test_addresses_outside_ascii_need_a_server_that_takes_them(
    mails: Provider, sandbox: Sandbox
) -> None:
    recipient = "jlópez@bücher.example"
    mails.send(mail(recipient=recipient), deadline=2)
    assert sandbox.received()[0].recipient == "jlópez@xn--bcher-kva.example"
    mails.send(mail(), deadline=2)
    with Peer(mail_server()) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail(recipient=recipient))
    assert kind(error) == (PermanentFailure, Reason.RECIPIENT_REFUSED)


def test_old_servers_know_only_helo() -> None:
    heard: list[bytes] = []
    with Peer(mail_server({"EHLO": b"502 what?\r\n"}, heard=heard)) as peer:
        build_provider(mail_settings(peer.port)).send(mail(), deadline=2)
    assert b"MAIL FROM:<notify@example.org>\r\n" in heard


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_tls(
    security: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext, sandbox: Sandbox
) -> None:
    replies = {"EHLO": b"250-peer\r\n250 STARTTLS\r\n"}
    implicit = security == "tls"
    serve = mail_server(replies, tls=None if implicit else server_tls)
    with Peer(serve, server_tls if implicit else None) as peer:
        settings = mail_settings(peer.port, security=security)
        trusting, wary = SmtpMail(settings, client_tls), SmtpMail(settings)
        for _ in range(2):
            assert trusting.send(mail(), deadline=2).provider_id == "4ABC12"
        assert peer.connections == 1
        assert kind(failure(wary, mail())) == (TemporaryFailure, Reason.TLS_UNTRUSTED)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_the_deadline_holds_over_tls(
    security: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    replies: dict[str, Any] = {"EHLO": b"250-peer\r\n250 STARTTLS\r\n", ".": say_nothing}
    implicit = security == "tls"
    serve = mail_server(replies, tls=None if implicit else server_tls)
    started = monotonic()
    with Peer(serve, server_tls if implicit else None) as peer:
        settings = mail_settings(peer.port, security=security)
        error = failure(SmtpMail(settings, client_tls), mail(), deadline=0.5)
    assert kind(error) == (UnknownOutcome, Reason.DEADLINE_PASSED)
    assert monotonic() - started < 2


@pytest.mark.parametrize(
    "replies",
    [
        {},
        {"EHLO": b"250-peer\r\n250 STARTTLS\r\n", "STAR": b"454 4.7.0 later\r\n"},
        {"EHLO": b"250-peer\r\n250 STARTTLS\r\n", "STAR": b"250 fine, go on in the clear\r\n"},
        {"EHLO": b"250-peer\r\n250 STARTTLS\r\n", "STAR": b"220 go\r\nnonsense\r\n"},
        {"EHLO": b"250-peer\r\n250 STARTTLS\r\n", "STAR": b""},
    ],
)
def test_starttls_that_does_not_work(replies: dict[str, bytes]) -> None:
    heard: list[bytes] = []
    with Peer(mail_server(replies, heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port, security="starttls"))
        error = failure(provider, mail(), deadline=0.5)
    assert type(error) is TemporaryFailure
    assert error.reason in (Reason.TLS_FAILED, Reason.CONNECTION_FAILED)
    assert not [line for line in heard if line.startswith(b"MAIL")]


def test_login() -> None:
    heard: list[bytes] = []
    login = {"username": "notify", "password_file": SecretStr("secret")}
    with Peer(mail_server(AUTH, heard=heard)) as peer:
        build_provider(mail_settings(peer.port, **login)).send(mail(), deadline=2)
    assert b"AUTH PLAIN " + base64.b64encode(b"\0notify\0secret") + b"\r\n" in heard


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (AUTH | {"AUTH": b"535 5.7.8 notify is wrong\r\n"}, Reason.PROVIDER_DENIED),
        (AUTH | {"AUTH": b"454 4.7.0 later\r\n"}, Reason.PROVIDER_ERROR),
        (AUTH | {"AUTH": b"334 !\r\n"}, Reason.PROVIDER_DENIED),
        (AUTH | {"AUTH": b""}, Reason.CONNECTION_FAILED),
        ({}, Reason.PROVIDER_DENIED),
        ({"EHLO": b"250-peer\r\n250 AUTH XOAUTH2\r\n"}, Reason.PROVIDER_DENIED),
    ],
)
@pytest.mark.parametrize("password", ["secret", "pässword"])
def test_login_refused(replies: dict[str, bytes], reason: Reason, password: str) -> None:
    login = {"username": "notify", "password_file": SecretStr(password)}
    with Peer(mail_server(replies)) as peer:
        error = failure(build_provider(mail_settings(peer.port, **login)), mail(), deadline=0.5)
    assert type(error) is TemporaryFailure
    assert error.reason in (reason, Reason.PROVIDER_DENIED)
    assert "notify is wrong" not in str(error)


@pytest.mark.parametrize("sender", ["jlópez@example.org", "a@☕.example"])
def test_senders_that_cannot_be_used(sender: str) -> None:
    with pytest.raises(ConfigError, match="relay: sender"):
        build_provider(mail_settings(25, sender=sender))


def test_no_descriptor_is_left_behind(open_files: Callable[[], int]) -> None:
    with Peer(mail_server({"RSET": b""})) as peer:
        provider = build_provider(mail_settings(peer.port))
        provider.send(mail(), deadline=2)
        before = open_files()
        for _ in range(100):
            provider.send(mail(), deadline=2)
            failure(build_provider(mail_settings(refused_port())), mail())
        for thread in [*peer._threads][1:-1]:
            thread.join(5)
        assert open_files() <= before + 2


def test_many_threads_at_once(mails: Provider, sandbox: Sandbox) -> None:
    def send() -> None:
        for _ in range(5):
            mails.send(mail(), deadline=5)

    threads = [threading.Thread(target=send) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({item.id for item in sandbox.wait_for(50, 5, ADDRESS)}) == 50
