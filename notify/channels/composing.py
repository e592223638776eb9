"""From a notification to a mail as this provider sends it: files read, headers set, signed."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from notify.channels.enclosures import read_enclosures
from notify.channels.letters import Letter, Sender, encode_address, write_letter
from notify.channels.parts import Enclosure
from notify.channels.seals import Seal
from notify.config.attachments import AttachmentSettings
from notify.config.providers import SmtpProvider
from notify.errors import ConfigError
from notify.notification import Notification


class Composer:
    """Writes the mails of one provider. Raises ``ConfigError``."""

    def __init__(self, settings: SmtpProvider, attachments: AttachmentSettings) -> None:
        self.sender = _sender(settings)
        self._seal = Seal(settings.name, settings.dkim) if settings.dkim else None
        self._attachments = attachments

    def draft(self, notification: Notification, now: datetime) -> "Draft":
        """Raises ``DeliveryFailure`` if this cannot become a mail."""
        files = notification.attachments
        enclosures = tuple(read_enclosures(files, self._attachments)) if files else ()
        return Draft(
            notification=notification,
            sender=self.sender,
            seal=self._seal,
            enclosures=enclosures,
            now=now,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """All that a mail is made of."""

    notification: Notification
    sender: Sender
    seal: Seal | None
    enclosures: tuple[Enclosure, ...]
    now: datetime

    @property
    def has_eight_bits(self) -> bool:
        """Whether a server with 8BITMIME gets other bytes.

        What is signed is always written in 7 bits: a relay on its way that encoded the texts
        would break the signature (RFC 6376, section 5.3).
        """
        texts = (self.notification.body or "", self.notification.html or "")
        return self.seal is None and not all(map(str.isascii, texts))

    def write(self, *, eight_bit: bool = False) -> Letter:
        """The mail; ``eight_bit`` if the server takes 8BITMIME."""
        letter = write_letter(
            self.notification,
            self.sender,
            self.now,
            self.enclosures,
            eight_bit=eight_bit and self.has_eight_bits,
        )
        return letter if self.seal is None else self.seal.seal(letter)


def preview(
    notification: Notification,
    settings: SmtpProvider,
    now: datetime,
    attachments: AttachmentSettings | None = None,
) -> bytes:
    """The complete mail (.eml) as this provider would send it to a server that takes 7 bits.

    Raises ``ConfigError``, and ``DeliveryFailure`` if this cannot become a mail.
    """
    composer = Composer(settings, attachments or AttachmentSettings())
    return composer.draft(notification, now).write().content


def _sender(settings: SmtpProvider) -> Sender:
    return Sender(
        address=_address(settings, "sender"),
        name=settings.sender_name or "",
        reply_to=_address(settings, "reply_to"),
        unsubscribe=_address(settings, "unsubscribe_mailto"),
    )


def _address(settings: SmtpProvider, key: str) -> str:
    given: str | None = getattr(settings, key)
    if given is None:
        return ""
    with suppress(ValueError):
        address = encode_address(given)
        if address.isascii() and address.isprintable():
            return address
    raise ConfigError([f"provider {settings.name}: {key} cannot be used as an address"])
