"""Providers: each says what to send and how to read the answer, and nothing else."""

from typing import Protocol

from notify.config.attachments import AttachmentSettings
from notify.config.described import ProfileProvider, PythonProvider
from notify.config.providers import HttpSmsProvider, SmtpProvider, WebhookProvider
from notify.notification import Notification
from notify.outcomes import Receipt

__all__ = ["Provider", "build_provider"]


class Provider(Protocol):
    """One account at one gateway. Used by many threads at once."""

    @property
    def name(self) -> str: ...

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Make one attempt that ends within ``deadline`` seconds, everything included.

        Raises ``TemporaryFailure`` if the message was surely not taken,
        ``PermanentFailure`` if it was refused for good, and ``UnknownOutcome`` if it may
        or may not have arrived.
        """
        ...


AnySettings = HttpSmsProvider | SmtpProvider | WebhookProvider | ProfileProvider | PythonProvider


def build_provider(
    settings: AnySettings, attachments: AttachmentSettings | None = None
) -> Provider:
    """The provider that a ``[[providers]]`` section describes. Raises ``ConfigError``.

    ``attachments`` says where the files of emails lie.

    A worker has one channel, and imports no more than its providers are made of: an email's
    parts, or the way through HTTP with its profiles.
    """
    match settings:
        case HttpSmsProvider():
            from notify.channels.sms import HttpSms

            return HttpSms(settings)
        case SmtpProvider():
            from notify.channels.mail import SmtpMail

            return SmtpMail(settings, attachments=attachments)
        case WebhookProvider():
            from notify.channels.webhook import Webhook

            return Webhook(settings)
        case ProfileProvider():
            from notify.channels.profiled import Profiled

            return Profiled(settings)
        case PythonProvider():
            from notify.channels.foreign import foreign

            made: Provider = foreign(settings)
            return made
