"""Servers that take commands in groups (RFC 2920) get them so, and nothing else changes."""

import ssl
from collections.abc import Callable
from typing import Any

import pytest

from notify.channels import build_provider
from notify.channels.mail import SmtpMail
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    TemporaryFailure,
    UnknownOutcome,
)

from .mailpeers import Reply, mail_server, say_nothing
from .peers import Peer, Serve
from .values import failure, kind, mail, mail_settings

GROUPS: dict[str, Reply] = {"EHLO": b"250-peer\r\n250-SIZE 1000000\r\n250 PIPELINING\r\n"}
OK = b"250 ok\r\n"
NO = b"550 5.1.1 no\r\n"
MORE = b"354 go\r\n"
OUT_OF_ORDER = b"503 5.5.1 bad sequence of commands\r\n"


def at_once(groups: list[list[bytes]]) -> Serve:
    """Says nothing before it has heard DATA."""

    def serve(connection: Any) -> None:
        connection.sendall(b"220 peer\r\n")
        with connection.makefile("rb") as stream:
            stream.readline()
            connection.sendall(GROUPS["EHLO"])
            while line := stream.readline():
                group = [line]
                while group[-1] not in (b"DATA\r\n", b""):
                    group.append(stream.readline())
                groups.append(group)
                connection.sendall(OK * (len(group) - 1) + MORE)
                while stream.readline() not in (b".\r\n", b""):
                    pass
                connection.sendall(b"250 2.0.0 Ok: queued as 4ABC12\r\n")

    return serve


def once(*replies: Reply, then: bytes) -> Callable[[Any], bytes]:
    """These replies, and then always the same."""
    first = iter(replies)

    def answer(connection: Any) -> bytes:
        reply = next(first, then)
        return reply if isinstance(reply, bytes) else reply(connection)

    return answer


def test_all_that_comes_before_the_mail_is_one_group() -> None:
    groups: list[list[bytes]] = []
    with Peer(at_once(groups)) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(2):
            assert provider.send(mail(), deadline=5).provider_id == "4ABC12"
        assert peer.connections == 1
    words = [[line[:4].strip() for line in group] for group in groups]
    assert words == [[b"MAIL", b"RCPT", b"DATA"], [b"rset", b"MAIL", b"RCPT", b"DATA"]]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((NO, OUT_OF_ORDER, OUT_OF_ORDER), (PermanentFailure, Reason.REFUSED)),
        ((b"451 later\r\n", OK, OUT_OF_ORDER), (TemporaryFailure, Reason.PROVIDER_ERROR)),
        ((OK, NO, OUT_OF_ORDER), (PermanentFailure, Reason.RECIPIENT_REFUSED)),
        ((OK, NO, b"554 no valid recipients\r\n"), (PermanentFailure, Reason.RECIPIENT_REFUSED)),
        ((OK, OK, b"451 later\r\n"), (TemporaryFailure, Reason.PROVIDER_ERROR)),
    ],
)
def test_a_refusal_within_a_group_does_not_cost_the_connection(
    replies: tuple[bytes, ...], expected: tuple[type[DeliveryFailure], Reason]
) -> None:
    words = ("MAIL", "RCPT", "DATA")
    table = {
        word: once(reply, then=MORE if word == "DATA" else OK)
        for word, reply in zip(words, replies, strict=True)
    }
    with Peer(mail_server(GROUPS | table)) as peer:
        provider = build_provider(mail_settings(peer.port))
        assert kind(failure(provider, mail())) == expected
        assert provider.send(mail(), deadline=2).code == "250"
        assert peer.connections == 1


@pytest.mark.parametrize("word", ["MAIL", "RCPT"])
@pytest.mark.parametrize("reply", [MORE, b"421 closing\r\n", b"", b"250 what?\r\n", say_nothing])
def test_what_comes_after_a_refusal_changes_nothing_about_it(word: str, reply: Reply) -> None:
    heard: list[bytes] = []
    table = {word: once(NO, then=OK), "DATA": once(reply, then=MORE)}
    with Peer(mail_server(GROUPS | table, heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        error = failure(provider, mail(), deadline=1.0)
        assert (type(error), error.code) == (PermanentFailure, "550")
        assert b".\r\n" not in heard
        assert b"Subject: Code\r\n" not in heard
        assert provider.send(mail(), deadline=2).code == "250"
        assert peer.connections == 2
    assert heard.count(b".\r\n") == 1


@pytest.mark.parametrize("reply", [b"", b"421 bye\r\n", b"500 what?\r\n", say_nothing])
def test_a_connection_that_is_no_longer_good_is_replaced(reply: Reply) -> None:
    heard: list[bytes] = []
    with Peer(mail_server(GROUPS | {"RSET": reply}, heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(3):
            assert provider.send(mail(), deadline=1.0).code == "250"
        assert peer.connections == 3
    assert heard.count(b".\r\n") == 3


@pytest.mark.parametrize("word", ["MAIL", "RCPT", "DATA"])
def test_what_is_lost_within_a_group_was_not_taken(word: str) -> None:
    heard: list[bytes] = []
    replies = {word: once(MORE if word == "DATA" else OK, then=b"")}
    with Peer(mail_server(GROUPS | replies, heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        provider.send(mail(), deadline=2)
        error = failure(provider, mail())
        assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
        assert error.detail.endswith(f" at {word}")
        assert peer.connections == 1
    assert heard.count(b".\r\n") == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(b"", Reason.CONNECTION_LOST), (say_nothing, Reason.DEADLINE_PASSED)],
)
def test_what_is_lost_after_the_dot_is_unknown(reply: Reply, reason: Reason) -> None:
    with Peer(mail_server(GROUPS | {".": once(OK, then=b"")})) as peer:
        provider = build_provider(mail_settings(peer.port))
        provider.send(mail(), deadline=2)
        assert kind(failure(provider, mail())) == (UnknownOutcome, Reason.CONNECTION_LOST)
    with Peer(mail_server(GROUPS | {".": once(OK, reply, then=OK)})) as peer:
        provider = build_provider(mail_settings(peer.port))
        provider.send(mail(), deadline=2)
        assert kind(failure(provider, mail(), deadline=1.0)) == (UnknownOutcome, reason)
        assert peer.connections == 1
        provider.send(mail(), deadline=2)
        assert peer.connections == 2


@pytest.mark.parametrize("word", ["MAIL", "RCPT", "DATA", "."])
def test_a_connection_that_owes_a_reply_is_not_kept(word: str) -> None:
    """The reply may come when the next mail is under way."""
    with Peer(mail_server(GROUPS | {word: b""})) as peer:
        provider = SmtpMail(mail_settings(peer.port))
        failure(provider, mail())
        assert not provider._lines._resting


def test_a_server_that_said_more_than_it_was_asked_is_not_asked_again() -> None:
    heard: list[bytes] = []
    replies: dict[str, Reply] = {".": b"250 ok\r\n421 4.4.2 idle for too long\r\n"}
    with Peer(mail_server(GROUPS | replies, heard=heard)) as peer:
        provider = build_provider(mail_settings(peer.port))
        for _ in range(2):
            provider.send(mail(), deadline=2)
        assert peer.connections == 2
    assert b"rset\r\n" not in heard


@pytest.mark.parametrize("hello", [GROUPS["EHLO"], b"250 peer\r\n"])
def test_a_reply_that_comes_before_the_mail_is_none_to_it(hello: Reply) -> None:
    heard: list[bytes] = []
    replies: dict[str, Reply] = {"EHLO": hello, "DATA": MORE + b"250 2.0.0 Ok: queued as 1\r\n"}
    with Peer(mail_server(replies, heard=heard)) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail())
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert b".\r\n" not in heard


@pytest.mark.parametrize("word", ["RSET", "MAIL", "RCPT"])
@pytest.mark.parametrize("replies", [0, 2])
def test_replies_that_do_not_match_the_commands(word: str, replies: int) -> None:
    """Nothing is sent to a server that we no longer understand."""

    def serve(connection: Any) -> None:
        connection.sendall(b"220 peer\r\n")
        with connection.makefile("rb") as stream:
            stream.readline()
            connection.sendall(GROUPS["EHLO"])
            for line in stream:
                told = MORE if line == b"DATA\r\n" else OK
                odd = line.upper().startswith(word.encode())
                connection.sendall(told * (replies if odd else 1))
                if told == MORE:
                    while stream.readline() not in (b".\r\n", b""):
                        pass
                    connection.sendall(OK)

    with Peer(serve) as peer:
        provider = build_provider(mail_settings(peer.port))
        if word == "RSET":
            provider.send(mail(), deadline=2)
        error = failure(provider, mail(), deadline=2)
        assert type(error) is TemporaryFailure
        assert peer.connections == 1


def test_what_was_said_before_tls_is_not_read_after_it(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    """It may have been said by somebody else (RFC 3207)."""
    heard: list[bytes] = []
    replies: dict[str, Reply] = {
        "EHLO": once(b"250-peer\r\n250 STARTTLS\r\n", then=b"250-peer\r\n250 SIZE\r\n"),
        "STAR": b"220 go\r\n250-peer\r\n250-PIPELINING\r\n250 8BITMIME\r\n",
    }
    with Peer(mail_server(replies, tls=server_tls, heard=heard)) as peer:
        provider = SmtpMail(mail_settings(peer.port, security="starttls"), client_tls)
        assert provider.send(mail(body="文"), deadline=5).code == "250"
    assert not any(b"BODY=" in line for line in heard)
