"""Writes hostile mails and reads them back; runs on every Python there is, without the pipeline.

``python every_python.py ROOT FOLDER``: the repository, and a folder with the package ``idna``.
"""

import random
import sys
from datetime import UTC, datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.policy import compat32, default
from types import ModuleType
from typing import Any

FRAGMENTS = [
    "=?utf-8?q?=0A?=",
    "=?UTF-8?Q?=0D=0A?= Bcc: injected@example.com",
    "A subject=?UTF-8?Q?=0A?=Bcc: injected@example.com",
    "=?utf-8?b?DQpCY2M6IHg=?=",
    "=?",
    "?=",
    "?==?",
    "Bcc: x@example.com",
    " ",
    "  ",
    ":",
    '"',
    "\\",
    "<a@b>",
    ",;",
    "%0d%0a",
    "=0D=0A",
    "–",
    "’",
    "é",
    "e\u0301",
    "\xa0",
    "« œuvre »",
    "【紧急】您的订单已发货",
    "مرحبا",
    "\u202eexe.fdp",
    "👩🏽‍💻🎉",
    "\U0010fffd",
    "x",
    "y" * 70,
    "z" * 300,
]
WORST = [
    "Votre commande n° 42 – l’équipe « Été » vous répond dès que possible… " * 3,
    "【紧急】您的订单 2026-09-18 已发货，请在收到后尽快确认并妥善保管相关凭证" * 3,
    "👩🏽‍💻" * 60,
    "مرحبا بك في متجرنا، رمز التأكيد الخاص بك هو ١٢٣٤٥٦ " * 4,
    "é" * 998,
    "a" * 998,
    " leading and trailing ",
]


def hostile(count: int) -> list[str]:
    """Texts of one line, the same each time."""
    chosen = random.Random(7)
    made = ["".join(chosen.choices(FRAGMENTS, k=chosen.randint(1, 12))) for _ in range(count)]
    return [*WORST, *FRAGMENTS, *made]


def check_all(count: int) -> int:
    """How many mails were written, each read back with what was put into it."""
    texts = hostile(count)
    for text in texts:
        _check(text)
    return len(texts)


def _check(text: str) -> None:
    from notify.channels.letters import Sender, write_letter
    from notify.notification import Notification

    notification = Notification(
        channel="email",
        recipient="ada@example.com",
        id="order-7",
        subject=text,
        body=f"{text}\n.\n\nFrom {text}",
        html=f"<p>{text}</p>",
        attachments=(_attachment(text),),
        unsubscribe="https://example.com/u?t=a%20b",
    )
    sender = Sender(address="notify@example.org", name=text, unsubscribe="out@example.org")
    now = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
    for eight_bit in (False, True):
        letter = write_letter(
            notification, sender, now, [_enclosure(notification)], eight_bit=eight_bit
        )
        _compare(letter.content, text, notification.attachments[0].name)


def _compare(content: bytes, text: str, name: str) -> None:
    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert b"\r" not in content.replace(b"\r\n", b"")
    message: Any = message_from_bytes(content, policy=compat32)
    assert len(message.keys()) == len(HEADERS), message.keys()
    assert sorted(message.keys()) == sorted(HEADERS)
    subject = message["Subject"].replace("\r\n ", " ")
    assert str(make_header(decode_header(subject))) == text
    texts, attached = message.get_payload()
    plain, html = texts.get_payload()
    assert plain.get_payload(decode=True).decode() == f"{text}\r\n.\r\n\r\nFrom {text}\r\n"
    assert html.get_payload(decode=True).decode() == f"<p>{text}</p>\r\n"
    assert attached.get_filename() == name
    assert attached.get_payload(decode=True) == bytes(range(256))
    modern: Any = message_from_bytes(content, policy=default)
    assert modern["From"].addresses[0].addr_spec == "notify@example.org"
    assert sorted(modern.keys()) == sorted(HEADERS)


HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "X-Notification-Id",
    "Auto-Submitted",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "MIME-Version",
    "Content-Type",
]


def _attachment(text: str) -> Any:
    from notify.attachments import Attachment
    from notify.errors import InvalidNotification

    values: dict[str, Any] = {"folder": "files", "sha256": "0" * 64, "size": 256}
    values["type"] = "application/pdf"
    name = text.replace("/", "").replace("\u202e", "")[:150]
    try:
        return Attachment(file=f"{name}.pdf", **values)
    except InvalidNotification:
        return Attachment(file="plain.pdf", **values)


def _enclosure(notification: Any) -> Any:
    from notify.channels.parts import Enclosure

    return Enclosure(about=notification.attachments[0], content=bytes(range(256)))


def main(root: str, folder: str) -> None:
    """Load the modules that write mails, and nothing that needs more than ``idna``."""
    sys.path[:0] = [root, folder]
    package = ModuleType("notify.channels")
    package.__path__ = [f"{root}/notify/channels"]
    sys.modules["notify.channels"] = package
    sys.stdout.write(f"{check_all(150)} mails\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
