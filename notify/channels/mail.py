"""Mail through an SMTP server; connections are kept per thread."""

import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime

from notify.channels.composing import Composer, Draft
from notify.channels.connecting import trouble
from notify.channels.deadlines import Deadline
from notify.channels.excerpts import Private, private_to
from notify.channels.letters import encode_address
from notify.channels.mailline import MailLine
from notify.channels.perthread import PerThread
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
        self._holders = PerThread(lambda: _Holder(settings, trusted, hello))

    @property
    def name(self) -> str:
        return self._settings.name

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Hand one mail over. Raises ``DeliveryFailure``."""
        with Deadline(deadline) as limit:
            draft = self._composer.draft(notification, datetime.now(UTC))
            told = _told(notification.recipient)
            private = private_to(notification, (*self._secrets, told))
            code, text = self._holders.get().deliver(draft, private, limit)
        return Receipt(provider=self.name, provider_id=queue_id(text), code=str(code))


class _Holder:
    """One thread's connection, if it has one."""

    def __init__(self, settings: SmtpProvider, tls: ssl.SSLContext, hello: str) -> None:
        self._settings = settings
        self._tls = tls
        self._hello = hello
        self._line = self._fresh()

    def deliver(self, draft: Draft, private: Private, deadline: Deadline) -> tuple[int, str]:
        letter = draft.write()
        try:
            self._connect(private, deadline)
            if draft.has_eight_bits and self._line.has_extn("8bitmime"):
                letter = draft.write(eight_bit=True)
            return self._line.deliver(letter)
        except OSError as error:
            # The library's errors quote what the server said: none of them is chained.
            stage, why = self._line.stage, trouble(error)
            raise lost(stage, passed=deadline.passed, trouble=why, tls=tls_reason(error)) from None
        finally:
            if not self._line.clean:
                self._line.close()

    def _connect(self, private: Private, deadline: Deadline) -> None:
        self._line.private = private
        if not self._line.resume(deadline):
            self._line.close()
            self._line = self._fresh()
            self._line.private = private
            self._line.open(deadline)

    def _fresh(self) -> MailLine:
        return MailLine(self._settings, self._tls, self._hello)


def _told(address: str) -> str:
    """The address as servers quote it: with the domain in ASCII, if it has such a form."""
    with suppress(ValueError):
        return encode_address(address)
    return address


def _own_name(domain: str) -> str:
    """What we call ourselves; the library would ask the resolver, and wait for it."""
    own = socket.gethostname()
    return own if "." in own and own.isascii() else domain
