"""Settings and notifications that the tests of this folder share."""

from typing import Any

from pydantic import SecretStr

from notify.channels import Provider
from notify.config.providers import HttpSmsProvider, SmtpProvider, WebhookProvider
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, Reason

PHONE = "+491701234567"
ADDRESS = "ada.lovelace@example.com"
SECRET_TEXT = "Ihr Code lautet 314159"
TOKEN = "token-271828"
LOOPBACK = "127.0.0.0/8, ::1/128"
TEXTS = ["【紧急】您的订单已发货，请查收", "مرحبا، رمزك هو ١٢٣", "Done 🎉👩🏽‍💻 café", "naïve € ß"]


def sms(**changes: Any) -> Notification:
    return Notification(**{"channel": "sms", "recipient": PHONE, "body": SECRET_TEXT} | changes)


def hook(url: str, **changes: Any) -> Notification:
    values: dict[str, Any] = {"channel": "webhook", "recipient": url, "data": {"text": SECRET_TEXT}}
    return Notification(**values | changes)


def mail(**changes: Any) -> Notification:
    values: dict[str, Any] = {
        "channel": "email",
        "recipient": ADDRESS,
        "subject": "Code",
        "body": SECRET_TEXT,
    }
    return Notification(**values | changes)


def sms_settings(url: str, **changes: Any) -> HttpSmsProvider:
    values: dict[str, Any] = {
        "type": "http-sms",
        "name": "gateway",
        "url": url,
        "token_file": SecretStr(TOKEN),
    }
    return HttpSmsProvider(**values | changes)


def hook_settings(**changes: Any) -> WebhookProvider:
    """The servers of the tests are on this machine, where hooks do not go by default."""
    values: dict[str, Any] = {"type": "webhook", "name": "hooks", "allow": LOOPBACK}
    return WebhookProvider(**values | changes)


def mail_settings(port: int, **changes: Any) -> SmtpProvider:
    values: dict[str, Any] = {
        "type": "smtp",
        "name": "relay",
        "host": "127.0.0.1",
        "port": port,
        "security": "none",
        "sender": "notify@example.org",
    }
    return SmtpProvider(**values | changes)


def failure(
    provider: Provider, notification: Notification, deadline: float = 2.0
) -> DeliveryFailure:
    """What an attempt raises."""
    try:
        receipt = provider.send(notification, deadline=deadline)
    except DeliveryFailure as error:
        return error
    raise AssertionError(f"accepted: {receipt}")


def kind(error: DeliveryFailure) -> tuple[type[DeliveryFailure], Reason]:
    return type(error), error.reason
