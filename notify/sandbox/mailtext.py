"""Reading a mail: its headers, its text, and the notification it belongs to."""

from dataclasses import dataclass
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import EmailMessage


@dataclass(frozen=True, kw_only=True)
class Mail:
    """A mail that was read. Lines of the text end with a newline only."""

    id: str
    text: str
    headers: dict[str, str]


def read_mail(content: bytes) -> Mail:
    """Read a mail; what cannot be decoded is replaced, never an error."""
    message = message_from_bytes(content, policy=policy.default)
    headers = {name.lower(): _decode(str(value)) for name, value in message.raw_items()}
    return Mail(id=_notification_id(headers), text=_text(message), headers=headers)


def _decode(value: str) -> str:
    """Decode raw UTF-8 (RFC 6532) as well as encoded words (RFC 2047)."""
    line = "".join(value.encode("utf-8", "surrogateescape").decode(errors="replace").splitlines())
    try:
        return str(make_header(decode_header(line)))
    except (MessageError, LookupError, ValueError):
        return line


def _notification_id(headers: dict[str, str]) -> str:
    message_id = headers.get("message-id", "").strip().removeprefix("<").removesuffix(">")
    return headers.get("x-notification-id") or message_id.rpartition("@")[0] or message_id


def _text(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except (LookupError, ValueError):
        payload = part.get_payload(decode=True)
        text = payload.decode(errors="replace") if isinstance(payload, bytes) else ""
    return text.replace("\r\n", "\n")
