import base64
from email import message_from_bytes
from time import monotonic
from typing import Any

import pytest

from notify.channels import Provider, build_provider
from notify.outcomes import (
    DeliveryFailure,
    PermanentFailure,
    Reason,
    Receipt,
    TemporaryFailure,
    UnknownOutcome,
)
from notify.sandbox import SMTP_CONNECTION, Answer, Sandbox, mailserver

from .mailpeers import mail_server, say_nothing
from .peers import Peer, blackhole, refused_port
from .values import ADDRESS, TEXTS, failure, kind, mail, mail_settings


@pytest.fixture(params=[("250-PIPELINING",), ()], ids=["groups", "one by one"])
def mails(
    sandbox: Sandbox, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Provider:
    """To a server that takes commands in groups, and one that takes one after the other."""
    monkeypatch.setattr(mailserver, "EXTENSIONS", request.param)
    return build_provider(mail_settings(sandbox.smtp_port))


@pytest.mark.parametrize("text", TEXTS)
def test_mail_arrives_as_it_is(mails: Provider, sandbox: Sandbox, text: str) -> None:
    receipt = mails.send(mail(subject=text, body=text, html=f"<p>{text}</p>"), deadline=2)
    (item,) = sandbox.received(ADDRESS)
    message = message_from_bytes(base64.b64decode(item.raw or ""))
    plain, html = list(message.walk())[1:]
    assert item.subject == text
    assert plain.get_payload(decode=True) == f"{text}\r\n".encode()
    assert html.get_payload(decode=True) == f"<p>{text}</p>\r\n".encode()
    assert receipt == Receipt(provider="relay", provider_id="email-000001", code="250")


@pytest.mark.parametrize("body", [".", "..", ".\r\n.\r\nQUIT", "a\n.\nb"])
def test_dots_do_not_end_a_mail(mails: Provider, sandbox: Sandbox, body: str) -> None:
    mails.send(mail(body=body), deadline=2)
    (item,) = sandbox.received(ADDRESS)
    assert item.body is not None
    assert item.body.splitlines() == body.splitlines()


def test_one_refused_recipient_harms_no_other(mails: Provider, sandbox: Sandbox) -> None:
    reply = Answer(smtp_stage="rcpt", smtp_reply="550 5.1.1 no such user")
    sandbox.script(ADDRESS, reply, reply)
    for other in ("bob@example.com", "eve@example.com"):
        assert failure(mails, mail()).suppress
        assert mails.send(mail(recipient=other), deadline=2).code == "250"
        assert [item.accepted for item in sandbox.received(other)] == [True]


STAGES: list[tuple[str, str, type[DeliveryFailure], Reason]] = [
    ("connect", SMTP_CONNECTION, TemporaryFailure, Reason.CONNECTION_FAILED),
    ("ehlo", SMTP_CONNECTION, TemporaryFailure, Reason.CONNECTION_FAILED),
    ("mail", SMTP_CONNECTION, PermanentFailure, Reason.REFUSED),
    ("rcpt", ADDRESS, PermanentFailure, Reason.RECIPIENT_REFUSED),
    ("data", ADDRESS, PermanentFailure, Reason.RECIPIENT_REFUSED),
    ("dot", ADDRESS, PermanentFailure, Reason.RECIPIENT_REFUSED),
]


@pytest.mark.parametrize(("stage", "who", "expected", "reason"), STAGES)
def test_every_stage_refused(
    mails: Provider, sandbox: Sandbox, stage: Any, who: str, expected: type, reason: Reason
) -> None:
    reply = Answer(smtp_stage=stage, smtp_reply=f"550 5.1.1 <{ADDRESS}> no")
    sandbox.script(who, *[reply] * (2 if stage == "ehlo" else 1))
    error = failure(mails, mail())
    assert kind(error) == (expected, reason)
    assert error.code == "550"
    assert error.suppress is (stage in ("rcpt", "data", "dot"))
    assert mails.send(mail(), deadline=2).code == "250"


@pytest.mark.parametrize(("stage", "who"), [case[:2] for case in STAGES])
def test_every_stage_deferred(mails: Provider, sandbox: Sandbox, stage: Any, who: str) -> None:
    reply = Answer(smtp_stage=stage, smtp_reply="451 4.3.0 later")
    sandbox.script(who, *[reply] * (2 if stage == "ehlo" else 1))
    error = failure(mails, mail())
    assert kind(error) == (TemporaryFailure, Reason.PROVIDER_ERROR)
    assert error.code == "451"
    assert mails.send(mail(), deadline=2).code == "250"


@pytest.mark.parametrize(("stage", "who"), [case[:2] for case in STAGES])
@pytest.mark.parametrize("how", [{"smtp_drop": True}, {"reset": "after"}])
def test_every_stage_dropped(
    mails: Provider, sandbox: Sandbox, stage: Any, who: str, how: dict[str, Any]
) -> None:
    sandbox.script(who, Answer(smtp_stage=stage, **how))
    expected = (
        (UnknownOutcome, Reason.CONNECTION_LOST)
        if stage == "dot"
        else (TemporaryFailure, Reason.CONNECTION_FAILED)
    )
    assert kind(failure(mails, mail())) == expected
    assert mails.send(mail(), deadline=2).code == "250"


@pytest.mark.parametrize("word", ["EHLO", "MAIL", "RCPT", "DATA", "."])
@pytest.mark.parametrize("hello", [b"250 peer\r\n", b"250-peer\r\n250 PIPELINING\r\n"])
def test_a_silent_server_is_given_up_at_the_deadline(word: str, hello: bytes) -> None:
    started = monotonic()
    with Peer(mail_server({"EHLO": hello, word: say_nothing})) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail(), deadline=1.0)
    assert monotonic() - started < 4
    assert kind(error) == (
        (UnknownOutcome, Reason.DEADLINE_PASSED)
        if word == "."
        else (TemporaryFailure, Reason.CONNECTION_FAILED)
    )


def test_a_server_that_stops_reading_has_not_taken_the_mail() -> None:
    def stop(connection: Any) -> bytes:
        connection.sendall(b"354 go\r\n")
        peer.closing.wait()
        return b""

    with Peer(mail_server({"EHLO": b"250 peer\r\n", "DATA": stop})) as peer:
        provider = build_provider(mail_settings(peer.port))
        error = failure(provider, mail(body="x" * 15_000_000), deadline=4.0)
    assert kind(error) == (TemporaryFailure, Reason.CONNECTION_FAILED)
    assert error.detail == "deadline passed at content"


@pytest.mark.parametrize(
    "reply", [b"250-more\r\n" * 50_000, b"250 " + b"x" * 100_000, b"nonsense\r\n", b"2"]
)
def test_strange_replies(reply: bytes) -> None:
    with Peer(mail_server({"RCPT": reply})) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail(), deadline=0.5)
    assert type(error) is TemporaryFailure


def test_a_strange_last_reply_is_unknown() -> None:
    with Peer(mail_server({".": b"354 what?\r\n"})) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail())
    assert kind(error) == (UnknownOutcome, Reason.CONNECTION_LOST)


def test_a_server_that_closes_after_ehlo_has_said_why() -> None:
    reply = b"421 4.7.0 too many connections from you\r\n"
    with Peer(mail_server({"EHLO": reply, "HELO": b""})) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail())
    assert kind(error) == (TemporaryFailure, Reason.PROVIDER_BUSY)
    assert (error.code, error.slow_down) == ("421", True)


@pytest.mark.parametrize("recipient", ["ab@bücher.example", "ab@example.com"])
def test_the_address_is_not_kept_in_any_form_that_the_server_was_told(recipient: str) -> None:
    def quote(_: Any) -> bytes:
        return b"550 5.7.1 no " + heard[-1].removeprefix(b"RCPT TO:")

    heard: list[bytes] = []
    ehlo = b"250-peer\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n"
    with Peer(mail_server({"EHLO": ehlo, "RCPT": quote}, heard=heard)) as peer:
        error = failure(build_provider(mail_settings(peer.port)), mail(recipient=recipient))
    assert error.answer == "5.7.1 no <***>"


def test_nobody_there() -> None:
    expected = TemporaryFailure, Reason.CONNECTION_FAILED
    refused = build_provider(mail_settings(refused_port()))
    unknown = build_provider(mail_settings(25, host="nonexistent.invalid"))
    assert kind(failure(refused, mail())) == expected
    assert kind(failure(unknown, mail())) == expected
    with blackhole() as port:
        silent = build_provider(mail_settings(port))
        assert kind(failure(silent, mail(), deadline=0.3)) == expected
