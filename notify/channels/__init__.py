"""Providers: each says what to send and how to read the answer, and nothing else."""

from typing import Protocol

from notify.channels.foreign import foreign
from notify.channels.mail import SmtpMail
from notify.channels.profiled import Profiled
from notify.channels.sms import HttpSms
from notify.channels.webhook import Webhook
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
    """
    match settings:
        case HttpSmsProvider():
            return HttpSms(settings)
        case SmtpProvider():
            return SmtpMail(settings, attachments=attachments)
        case WebhookProvider():
            return Webhook(settings)
        case ProfileProvider():
            return Profiled(settings)
        case PythonProvider():
            made: Provider = foreign(settings)
            return made
