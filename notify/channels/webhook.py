"""Webhooks: JSON posted to the URL that is the recipient, signed as Standard Webhooks says."""

import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

from notify.channels.addresses import Guard
from notify.channels.exchange import Call, Exchange
from notify.channels.standard import headers
from notify.config.providers import WebhookProvider
from notify.notification import Notification
from notify.outcomes import PermanentFailure, Reason, Receipt


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
        self._secrets = [each.get_secret_value() for each in settings.signing_secret_files]
        self._exchange = Exchange(settings, guard, tls, secrets=_spellings(self._secrets))
        self._clock = clock

    @property
    def name(self) -> str:
        return self._settings.name

    @property
    def exchange(self) -> Exchange:
        return self._exchange

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Post one notification. Raises ``DeliveryFailure``."""
        call = Call(
            notification=notification,
            url=notification.recipient,
            content=posted(notification),
            headers={"Idempotency-Key": notification.id},
        )

        def sign(body: bytes) -> dict[str, str]:
            return headers(notification.id, int(self._clock()), body, self._secrets)

        try:
            return self._exchange.send(call, deadline, sign=sign)
        except PermanentFailure as failure:
            failure.suppress |= failure.reason is Reason.ENDPOINT_GONE
            raise


def posted(notification: Notification) -> Any:
    """What is posted as JSON: the data, or what there is of subject and body."""
    if notification.data is not None:
        return notification.data
    texts = {"subject": notification.subject, "body": notification.body}
    return {name: text for name, text in texts.items() if text is not None}


def _spellings(secrets: list[str]) -> Iterator[str]:
    """Secrets as they are, and as they are used."""
    for secret in secrets:
        yield from (secret, secret.removeprefix("whsec_"))
