"""What would be sent, without sending it."""

import hashlib
from base64 import b64decode
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

from notify.attachments import Attachment
from notify.channels import build_provider
from notify.channels.composing import preview
from notify.config import AttachmentSettings
from notify.errors import ConfigError
from notify.outcomes import PermanentFailure
from notify.sandbox import Sandbox

from .test_letters import NOW
from .values import mail, mail_settings


def _without_date(content: bytes) -> bytes:
    return b"\r\n".join(line for line in content.split(b"\r\n") if not line.startswith(b"Date: "))


def test_it_is_what_is_sent(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    values: dict[str, Any] = {"sha256": digest, "size": 7, "type": "application/pdf"}
    file = Attachment(folder="files", file="a.pdf", **values)
    folders = AttachmentSettings(folders={"files": tmp_path})
    changes: dict[str, Any] = {"sender_name": "Notify – “Test”", "reply_to": "help@example.org"}
    settings = mail_settings(sandbox.smtp_port, **changes)
    notification = mail(html="<p>hi</p>", attachments=(file,), unsubscribe="https://example.org/u")
    shown = preview(notification, settings, NOW, folders)
    build_provider(settings, folders).send(notification, deadline=5)
    sent = b64decode(sandbox.received()[0].raw or "")
    assert _without_date(shown) == _without_date(sent)
    assert message_from_bytes(shown)["Date"] == "Fri, 01 May 2026 12:30:00 +0000"


def test_what_cannot_be_sent_cannot_be_shown() -> None:
    with pytest.raises(PermanentFailure, match="invalid: attachment 1: its folder"):
        values: dict[str, Any] = {"sha256": "0" * 64, "size": 7, "type": "application/pdf"}
        file = Attachment(folder="files", file="a.pdf", **values)
        preview(mail(attachments=(file,)), mail_settings(25), NOW)
    with pytest.raises(ConfigError, match="reply_to cannot be used as an address"):
        preview(mail(), mail_settings(25, reply_to="a@a·b.example"), NOW)
