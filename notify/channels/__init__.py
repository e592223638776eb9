"""Providers: each says what to send and how to read the answer, and nothing else."""

from typing import Protocol

from notify.channels.mail import SmtpMail
from notify.channels.sms import HttpSms
from notify.channels.webhook import Webhook
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


def build_provider(settings: HttpSmsProvider | SmtpProvider | WebhookProvider) -> Provider:
    """The provider that a ``[[providers]]`` section describes. Raises ``ConfigError``."""
    match settings:
        case HttpSmsProvider():
            return HttpSms(settings)
        case SmtpProvider():
            return SmtpMail(settings)
        case WebhookProvider():
            return Webhook(settings)
