"""Mail through an SMTP server, over connections that are used again."""

import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from notify.channels.composing import Composer, Draft
from notify.channels.connecting import trouble
from notify.channels.deadlines import Deadline
from notify.channels.excerpts import Private, private_to
from notify.channels.letters import encode_address
from notify.channels.mailline import MailLine, Stale
from notify.channels.maillines import MailLines
from notify.channels.replies import lost, queue_id
from notify.channels.tls import tls_reason, trust
from notify.config.attachments import AttachmentSettings
from notify.config.providers import SmtpProvider
from notify.notification import Notification
from notify.outcomes import Receipt


class SmtpMail:
    """Hands mails to one server."""

    def __init__(
        self,
        settings: SmtpProvider,
        tls: ssl.SSLContext | None = None,
        attachments: AttachmentSettings | None = None,
    ) -> None:
        trusted = tls or trust(settings.ca_file)
        secret = settings.password_file
        self._secrets = (secret.get_secret_value(),) if secret else ()
        self._settings = settings
        self._composer = Composer(settings, attachments or AttachmentSettings())
        hello = _own_name(self._composer.sender.domain)
        self._lines = MailLines(lambda: MailLine(settings, trusted, hello))

    @property
    def name(self) -> str:
        return self._settings.name

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Hand one mail over. Raises ``DeliveryFailure``."""
        limit = Deadline(deadline)
        draft = self._composer.draft(notification, datetime.now(UTC))
        line = self._lines.take()
        line.private = partial(self._private, notification)
        try:
            with limit:
                code, text = _deliver(draft, line, limit)
        finally:
            # Not before our deadline has let go of it: another thread may take it at once.
            line.private = Private
            self._lines.give_back(line)
        return Receipt(provider=self.name, provider_id=queue_id(text), code=str(code))

    def _private(self, notification: Notification) -> Private:
        return private_to(notification, (*self._secrets, _told(notification.recipient)))


def _deliver(draft: Draft, line: MailLine, deadline: Deadline) -> tuple[int, str]:
    # What cannot become a mail needs no connection.
    eight_bit = line.takes_eight_bits
    letter = draft.write(eight_bit=eight_bit)
    try:
        if line.resume(deadline):
            with suppress(Stale):
                return line.deliver(letter)
        line.reopen(deadline)
        if draft.has_eight_bits and line.takes_eight_bits is not eight_bit:
            letter = draft.write(eight_bit=line.takes_eight_bits)
        return line.deliver(letter)
    except OSError as error:
        # The library's errors quote what the server said: none of them is chained.
        why = trouble(error)
        raise lost(line.stage, passed=deadline.passed, trouble=why, tls=tls_reason(error)) from None


def _told(address: str) -> str:
    """The address as servers quote it: with the domain in ASCII, if it has such a form."""
    with suppress(ValueError):
        return encode_address(address)
    return address


def _own_name(domain: str) -> str:
    """What we call ourselves; the library would ask the resolver, and wait for it."""
    own = socket.gethostname()
    return own if "." in own and own.isascii() else domain
