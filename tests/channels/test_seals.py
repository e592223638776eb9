"""Signed mails verify, and a mail that cannot be signed is not sent."""

import re
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import dkim
import pytest
from pydantic import SecretStr

from notify.channels import build_provider
from notify.channels.composing import preview
from notify.channels.letters import Letter
from notify.channels.seals import Seal
from notify.config import DkimSettings
from notify.errors import ConfigError
from notify.outcomes import PermanentFailure, Reason
from notify.sandbox import Sandbox

from .test_letters import NOW
from .values import TEXTS, failure, kind, mail, mail_settings


def _openssl(command: str, given: str = "") -> str:
    return subprocess.run(
        ["openssl", *command.split()], input=given, capture_output=True, text=True, check=True
    ).stdout


def _public(key: str, kind: str) -> bytes:
    """What stands in the DNS."""
    pem = _openssl("pkey -pubout", key)
    der = b64decode("".join(pem.splitlines()[1:-1]))
    shown = der if kind == "rsa" else der[-32:]
    return f"v=DKIM1; k={kind}; p={b64encode(shown).decode()}".encode()


@pytest.fixture(scope="module", params=["rsa", "ed25519"])
def signer(request: pytest.FixtureRequest) -> tuple[DkimSettings, bytes]:
    """Settings, and the record that belongs to them."""
    make = {"rsa": "genrsa 1024", "ed25519": "genpkey -algorithm ed25519"}[request.param]
    key = _openssl(make)
    settings = DkimSettings(domain="example.org", selector="s1", key_file=SecretStr(key))
    return settings, _public(key, request.param)


def _verified(content: bytes, record: bytes) -> bool:
    asked: list[bytes] = []

    def answer(name: bytes, timeout: int = 5) -> bytes:
        asked.append(name)
        return record

    found = dkim.verify(content, dnsfunc=answer)
    assert set(asked) <= {b"s1._domainkey.example.org."}
    return bool(found)


@pytest.mark.parametrize("text", TEXTS)
def test_what_arrives_verifies(
    sandbox: Sandbox, signer: tuple[DkimSettings, bytes], text: str
) -> None:
    settings, record = signer
    provider = build_provider(
        mail_settings(sandbox.smtp_port, dkim=settings, sender_name=text, reply_to="a@example.org")
    )
    content = mail(subject=text * 9, body=f"{text}  \n\n.\n\n", html=f"<p>{text}</p>")
    provider.send(content.evolve(unsubscribe="https://example.org/u?a=1"), deadline=5)
    raw = b64decode(sandbox.received()[0].raw or "")
    assert _verified(raw, record)
    assert raw.isascii()
    assert not _verified(raw.replace(b"<p>", b"<q>"), record) or b"<p>" not in raw


def test_an_address_outside_ascii_verifies_too(signer: tuple[DkimSettings, bytes]) -> None:
    settings, record = signer
    content = preview(
        mail(recipient="jlópez@bücher.example"), mail_settings(25, dkim=settings), NOW
    )
    assert _verified(content, record)


def _signed(content: bytes) -> list[str]:
    head = re.sub(rb"\r\n[ \t]", b" ", content.partition(b"\r\n\r\n")[0])
    found = re.search(rb"^DKIM-Signature:.*\bh=([^;]*);", head)
    assert found is not None
    return found[1].decode().replace(" ", "").split(":")


def test_what_is_signed(signer: tuple[DkimSettings, bytes]) -> None:
    settings, record = signer
    changes: dict[str, Any] = {"dkim": settings, "reply_to": "help@example.org"}
    notification = mail(unsubscribe="https://example.org/u")
    content = preview(notification, mail_settings(25, **changes), NOW)
    names = _signed(content)
    assert {
        "from", "to", "subject", "date", "message-id", "mime-version", "content-type",
        "reply-to", "list-unsubscribe", "list-unsubscribe-post",
    } <= set(names)  # fmt: skip
    assert names.count("from") == 2
    assert b"c=relaxed/relaxed" in content
    assert re.search(rb"[; ]l=", content.partition(b"\r\n\r\n")[0]) is None
    for line in (b"From: x@example.com", b"Subject: x", b"To: x@example.com", b"Date: x"):
        assert not _verified(content.replace(b"\r\nFrom:", b"\r\n" + line + b"\r\nFrom:"), record)
        assert not _verified(line + b"\r\n" + content, record)
    post = content.replace(b"One-Click", b"Two-Click")
    assert not _verified(post, record)


def test_a_header_that_is_not_there_cannot_be_added(signer: tuple[DkimSettings, bytes]) -> None:
    settings, record = signer
    content = preview(mail(), mail_settings(25, dkim=settings), NOW)
    assert _verified(content, record)
    for line in (b"Reply-To: x@example.com", b"Cc: x@e.com", b"List-Unsubscribe: <https://e.com>"):
        assert not _verified(line + b"\r\n" + content, record)


@pytest.fixture
def rsa() -> DkimSettings:
    key = SecretStr(_openssl("genrsa 1024"))
    return DkimSettings(domain="example.org", selector="s1", key_file=key)


def _broken(*_: object, **__: object) -> bytes:
    raise ValueError("the key is SECRET")


def test_a_mail_that_cannot_be_signed_is_not_sent(
    sandbox: Sandbox, rsa: DkimSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = build_provider(mail_settings(sandbox.smtp_port, dkim=rsa))
    monkeypatch.setattr(dkim, "sign", _broken)
    error = failure(provider, mail())
    assert kind(error) == (PermanentFailure, Reason.INTERNAL_ERROR)
    assert "SECRET" not in str(error)
    assert error.__cause__ is None
    assert sandbox.received() == []


@pytest.mark.parametrize(
    "signature", [b"", b"X: y\r\n", b"DKIM-Signature: a", b"DKIM-Signature: a\r\n\r\n"]
)
def test_what_is_no_signature_is_not_sent_as_one(
    rsa: DkimSettings, monkeypatch: pytest.MonkeyPatch, signature: bytes
) -> None:
    seal = Seal("relay", rsa)
    letter = Letter(sender="a@b.c", recipient="d@e.f", content=b"From: a@b.c\r\n\r\nx\r\n")
    monkeypatch.setattr(dkim, "sign", lambda *_, **__: signature)
    with pytest.raises(PermanentFailure, match="could not be signed"):
        seal.seal(letter)


def test_a_key_that_cannot_sign_is_noticed_before_anything_is_sent(
    rsa: DkimSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dkim, "sign", _broken)
    with pytest.raises(ConfigError, match="provider relay: dkim: the key cannot sign") as caught:
        build_provider(mail_settings(25, dkim=rsa))
    assert "SECRET" not in str(caught.value)


def test_keys_are_not_shown(rsa: DkimSettings, tmp_path: Path) -> None:
    text = rsa.key_file.get_secret_value().splitlines()[1]
    assert text not in repr(mail_settings(25, dkim=rsa))
    assert text not in repr(rsa.key)
