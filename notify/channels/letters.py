"""Builds the bytes of a mail, and looks at them before they are used. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from urllib.parse import quote

import idna

from notify.channels.headers import Header, exact, mailbox, unstructured
from notify.channels.parts import Enclosure, build_parts
from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Sender:
    """Who the mail is from, and where answers go; addresses are ASCII."""

    address: str
    name: str = ""
    reply_to: str = ""
    unsubscribe: str = ""

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

    @property
    def eight_bit(self) -> bool:
        """Whether only a server with 8BITMIME can take it."""
        return not self.content.isascii()


def write_letter(
    notification: Notification,
    sender: Sender,
    now: datetime,
    enclosures: Sequence[Enclosure] = (),
    *,
    eight_bit: bool = False,
) -> Letter:
    """The mail for a notification. Raises ``PermanentFailure`` if it cannot be sent safely."""
    recipient = _recipient(notification.recipient)
    headers = _headers(notification, sender, recipient, now)
    content = build_parts(headers, notification, enclosures, eight_bit=eight_bit)
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
    notification: Notification, sender: Sender, recipient: str, now: datetime
) -> list[Header]:
    # The same for each attempt, so that a receiver can tell a repeat.
    local = notification.id.replace(":", "=3A")
    ours, *others = _own_headers(sender)
    headers = [
        ours,
        mailbox("To", recipient),
        *others,
        unstructured("Subject", notification.subject or ""),
        _date(now.replace(microsecond=0)),
        exact("Message-ID", f"<{local}@{sender.domain}>"),
        exact("X-Notification-Id", notification.id),
    ]
    if notification.unsubscribe:
        headers += _unsubscribe(notification.unsubscribe, sender.unsubscribe)
    return headers


@lru_cache(maxsize=64)
def _own_headers(sender: Sender) -> tuple[Header, ...]:
    """Those that are the same in all mails of a sender, From first."""
    answers = (mailbox("Reply-To", sender.reply_to),) if sender.reply_to else ()
    return (
        mailbox("From", sender.address, sender.name),
        *answers,
        exact("Auto-Submitted", "auto-generated"),
    )


# Many mails are written within a second.
@lru_cache(maxsize=16)
def _date(now: datetime) -> Header:
    return exact("Date", format_datetime(now))


def _unsubscribe(url: str, address: str) -> Iterator[Header]:
    """RFC 8058: both headers together, and the URL is https, which notifications see to."""
    link = exact("List-Unsubscribe", f"<{url}>")
    if address:
        mailto = exact("List-Unsubscribe", f"<mailto:{quote(address, safe='@+')}>").written
        link = Header("List-Unsubscribe", f"{link.written},\r\n {mailto}")
    yield link
    yield exact("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
