"""Builds the bytes of a mail. Pure, and trusts no encoder with the headers.

Python's own header folding has turned an encoded word in a subject into a header line
(python/cpython#121650). So every header is encoded here, and read back before it is used.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.parser import Parser
from email.policy import SMTP, compat32
from email.utils import format_datetime
from typing import Final

import idna

from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason

_PLAIN: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONGEST_PLAIN: Final = 60
# A line with an encoded word has at most 76 characters: 64 for the word leave room for the name.
_WORD_BYTES: Final = 39
_LONGEST_LINE: Final = 76


@dataclass(frozen=True, kw_only=True, slots=True)
class Sender:
    """Who the mail is from; ``address`` is ASCII."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """A mail as it goes over the wire: envelope and content."""

    sender: str
    recipient: str
    content: bytes

    @property
    def utf8(self) -> bool:
        """Whether only a server with SMTPUTF8 can take it."""
        return not self.recipient.isascii()


def write_letter(notification: Notification, sender: Sender, now: datetime) -> Letter:
    """The mail for a notification. Raises ``PermanentFailure`` if it cannot be sent safely."""
    recipient = _recipient(notification.recipient)
    subject = notification.subject or ""
    _check_values(recipient, sender.address, subject, sender.name)
    body = _body(notification)
    headers = _headers(notification, sender, recipient, subject, now)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    content = head + body.as_bytes(policy=SMTP)
    _read_back(content, {**headers, **dict(body.items())}, subject)
    return Letter(sender=sender.address, recipient=recipient, content=content)


def encode_address(address: str) -> str:
    """The address with its domain in ASCII (IDNA 2008). Raises ``ValueError``."""
    local, _, domain = address.rpartition("@")
    if domain.isascii():
        return address
    return f"{local}@{idna.encode(domain, uts46=True).decode()}"


def _recipient(address: str) -> str:
    try:
        return encode_address(address)
    except ValueError:
        raise PermanentFailure(
            Reason.RECIPIENT_REFUSED, "the domain is not a valid internationalised name"
        ) from None


def _headers(
    notification: Notification, sender: Sender, recipient: str, subject: str, now: datetime
) -> dict[str, str]:
    local = notification.id.replace(":", "=3A")
    return {
        "From": f"{_phrase(sender.name)} <{sender.address}>" if sender.name else sender.address,
        "To": recipient,
        "Subject": _text(subject),
        "Date": format_datetime(now),
        "Message-ID": f"<{local}@{sender.domain}>",
        "X-Notification-Id": notification.id,
        "Auto-Submitted": "auto-generated",
    }


def _text(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and len(value) <= _LONGEST_PLAIN and "=?" not in value
    return value if plain else _encoded(value)


def _phrase(name: str) -> str:
    if _text(name) != name:
        return _encoded(name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _encoded(value: str) -> str:
    words = (b64encode(piece.encode()).decode() for piece in _pieces(value))
    return "\r\n ".join(f"=?utf-8?b?{word}?=" for word in words)


def _pieces(value: str) -> Iterable[str]:
    """The text in pieces that fit into an encoded word, no character split."""
    piece = ""
    for character in value:
        if len((piece + character).encode()) > _WORD_BYTES:
            yield piece
            piece = ""
        piece += character
    yield piece


def _body(notification: Notification) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    if notification.body:
        message.set_content(notification.body, cte=_transfer(notification.body))
    if notification.html:
        add = message.add_alternative if notification.body else message.set_content
        add(notification.html, subtype="html", cte=_transfer(notification.html))
    return message


def _transfer(text: str) -> str:
    lines = re.split(r"\r\n|\r|\n", text)
    plain = all(re.fullmatch(r"[\t -~]*", line) for line in lines)
    return "7bit" if plain and max(map(len, lines)) <= _LONGEST_LINE else "base64"


def _check_values(recipient: str, sender: str, *texts: str) -> None:
    addresses = recipient, sender
    if any(map(_CONTROL.search, (*addresses, *texts))) or any("=?" in each for each in addresses):
        raise _unsafe()


def _read_back(content: bytes, headers: dict[str, str], subject: str) -> None:
    parsed = Parser(policy=compat32).parsestr(content.decode(), headersonly=True)
    found = [(name, _unfolded(value)) for name, value in parsed.items()]
    if found != [(name, _unfolded(value)) for name, value in headers.items()]:
        raise _unsafe()
    if str(make_header(decode_header(str(parsed["Subject"])))) != subject:
        raise _unsafe()


def _unfolded(value: object) -> str:
    return re.sub(r"\r?\n[ \t]", " ", str(value))


def _unsafe() -> PermanentFailure:
    return PermanentFailure(Reason.REFUSED, "a header cannot be encoded safely")
