"""A slow server has all the time that the deadline leaves, in the clear and over TLS."""

import ssl
from threading import Event
from time import monotonic
from typing import Any

import pytest

from notify.channels.mail import SmtpMail
from notify.outcomes import Reason, TemporaryFailure, UnknownOutcome

from .mailpeers import Reply, mail_server, say_nothing
from .peers import Peer
from .values import failure, kind, mail, mail_settings

HELLO = b"250-peer\r\n250 PIPELINING\r\n"
LARGE = "x" * 8_000_000


def _late(reply: bytes, seconds: float) -> Reply:
    def answer(_: Any) -> bytes:
        Event().wait(seconds)
        return reply

    return answer


def _reads_late(seconds: float) -> Any:
    """Takes one mail, and begins to read it late."""

    def serve(connection: Any) -> None:
        with connection.makefile("rb") as stream:
            connection.sendall(b"220 peer\r\n")
            stream.readline()
            connection.sendall(HELLO)
            while stream.readline() != b"DATA\r\n":
                connection.sendall(b"250 ok\r\n")
            connection.sendall(b"354 go\r\n")
            Event().wait(seconds)
            while stream.readline() not in (b".\r\n", b""):
                pass
            connection.sendall(b"250 2.0.0 Ok: queued as 4ABC12\r\n")

    return serve


@pytest.fixture(params=["none", "tls"])
def security(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tls(security: str, server_tls: ssl.SSLContext) -> ssl.SSLContext | None:
    return server_tls if security == "tls" else None


def _mails(peer: Peer, security: str, client_tls: ssl.SSLContext) -> SmtpMail:
    return SmtpMail(mail_settings(peer.port, security=security), client_tls)


@pytest.mark.parametrize("word", ["RCPT", "."])
def test_a_reply_may_come_late(
    security: str, tls: ssl.SSLContext | None, client_tls: ssl.SSLContext, word: str
) -> None:
    replies = {"EHLO": HELLO, word: _late(b"250 2.0.0 Ok: queued as 4ABC12\r\n", 1.2)}
    with Peer(mail_server(replies), tls) as peer:
        provider = _mails(peer, security, client_tls)
        assert provider.send(mail(), deadline=2.0).code == "250"
        assert peer.connections == 1


def test_a_mail_may_be_read_late(
    security: str, tls: ssl.SSLContext | None, client_tls: ssl.SSLContext
) -> None:
    with Peer(_reads_late(2.5), tls) as peer:
        provider = _mails(peer, security, client_tls)
        assert provider.send(mail(body=LARGE), deadline=4.0).provider_id == "4ABC12"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("RCPT", (TemporaryFailure, Reason.CONNECTION_FAILED)),
        (".", (UnknownOutcome, Reason.DEADLINE_PASSED)),
    ],
)
def test_the_deadline_holds_on_a_connection_that_is_used_again(
    security: str,
    tls: ssl.SSLContext | None,
    client_tls: ssl.SSLContext,
    word: str,
    expected: Any,
) -> None:
    answers: Any = iter([b"250 ok\r\n"] * 3)

    def fall_silent(connection: Any) -> bytes:
        return next(answers, None) or say_nothing(connection)

    with Peer(mail_server({"EHLO": HELLO, word: fall_silent}), tls) as peer:
        provider = _mails(peer, security, client_tls)
        for _ in range(3):
            provider.send(mail(), deadline=30.0)
        error = failure(provider, mail(), deadline=1.0)
        assert kind(error) == expected
        assert error.detail in ("deadline passed at RCPT", "no reply to the final dot")
        assert peer.connections == 1


def test_a_reply_that_never_ends_ends_at_the_deadline(
    security: str, tls: ssl.SSLContext | None, client_tls: ssl.SSLContext
) -> None:
    answers: Any = iter([b"250 ok\r\n"] * 2)

    def drip(connection: Any) -> bytes:
        if answer := next(answers, None):
            return bytes(answer)
        while not peer.closing.wait(0.1):
            connection.sendall(b"2")
        return b""

    with Peer(mail_server({"EHLO": HELLO, ".": drip}), tls) as peer:
        provider = _mails(peer, security, client_tls)
        for _ in range(2):
            provider.send(mail(), deadline=30.0)
        started = monotonic()
        error = failure(provider, mail(), deadline=1.0)
        assert monotonic() - started < 20
    assert kind(error) == (UnknownOutcome, Reason.DEADLINE_PASSED)


def test_a_mail_that_is_not_read_to_its_end_was_not_taken(
    security: str, tls: ssl.SSLContext | None, client_tls: ssl.SSLContext
) -> None:
    with Peer(_reads_late(2.0), tls) as peer:
        error = failure(_mails(peer, security, client_tls), mail(body=LARGE), deadline=1.0)
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert error.detail == "deadline passed at content"
