"""Webhooks: JSON posted to the URL that is the recipient."""

import ssl
import time
from collections.abc import Callable
from typing import Any

from notify.channels.addresses import Guard
from notify.channels.exchange import Call, Exchange
from notify.config.providers import WebhookProvider
from notify.notification import Notification
from notify.outcomes import Receipt


class Webhook:
    """Posts the data of a notification, or its subject and body."""

    def __init__(
        self,
        settings: WebhookProvider,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        guard = Guard(allow=settings.allow, ports=settings.ports, schemes=settings.schemes)
        self._settings = settings
        self._exchange = Exchange(settings, guard, tls)
        self._clock = clock

    @property
    def name(self) -> str:
        return self._settings.name

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Post one notification. Raises ``DeliveryFailure``."""
        headers = {
            "webhook-id": notification.id,
            "webhook-timestamp": str(int(self._clock())),
            "Idempotency-Key": notification.id,
        }
        call = Call(
            notification=notification,
            url=notification.recipient,
            content=_content(notification),
            headers=headers,
        )
        return self._exchange.send(call, deadline)


def _content(notification: Notification) -> Any:
    if notification.data is not None:
        return notification.data
    texts = {"subject": notification.subject, "body": notification.body}
    return {name: text for name, text in texts.items() if text is not None}
