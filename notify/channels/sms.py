"""SMS through a gateway with an HTTP interface that the configuration describes."""

import re
import ssl
from collections.abc import Mapping
from typing import Any, Final

from notify.channels.bodies import find_id
from notify.channels.exchange import Call, Exchange
from notify.config.providers import HttpSmsProvider
from notify.notification import Notification
from notify.outcomes import Receipt

_PLACEHOLDER: Final = re.compile(r"\{(id|recipient|body|priority)\}")


class HttpSms:
    """Sends the JSON body of the configuration with its placeholders filled in."""

    def __init__(self, settings: HttpSmsProvider, tls: ssl.SSLContext | None = None) -> None:
        self._settings = settings
        self._exchange = Exchange(settings, tls=tls)

    @property
    def name(self) -> str:
        return self._settings.name

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Hand one text to the gateway. Raises ``DeliveryFailure``."""
        call = Call(
            notification=notification,
            method=self._settings.method,
            url=self._settings.url,
            content=fill_in(self._settings.body, notification),
            headers={"Idempotency-Key": notification.id},
        )
        path = self._settings.id_field
        return self._exchange.send(call, deadline, lambda body: find_id(body, path))


def fill_in(template: Any, notification: Notification) -> Any:
    """The template with the placeholders in its texts replaced, each once."""
    values = {
        "id": notification.id,
        "recipient": notification.recipient,
        "body": notification.body or "",
        "priority": notification.priority,
    }
    return _fill(template, values)


def _fill(template: Any, values: Mapping[str, str]) -> Any:
    if isinstance(template, str):
        return _PLACEHOLDER.sub(lambda found: values[found[1]], template)
    if isinstance(template, dict):
        return {key: _fill(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill(value, values) for value in template]
    return template
