"""SMS through a gateway with an HTTP interface that the configuration describes."""

import json
import re
import ssl
from collections.abc import Mapping
from typing import Any, Final

from notify.channels.exchange import Exchange
from notify.config.models import HttpSmsProvider
from notify.notification import Notification
from notify.outcomes import Receipt

_PLACEHOLDER: Final = re.compile(r"\{(id|recipient|body|priority)\}")
_PROVIDER_ID: Final = re.compile(r"[ -~]{1,64}")


class HttpSms:
    """Sends the JSON body of the configuration with its placeholders filled in."""

    def __init__(self, settings: HttpSmsProvider, tls: ssl.SSLContext | None = None) -> None:
        token = settings.token_file.get_secret_value() if settings.token_file else None
        self._settings = settings
        self._exchange = Exchange(settings.name, settings.headers, token, tls)

    @property
    def name(self) -> str:
        return self._settings.name

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Hand one text to the gateway. Raises ``DeliveryFailure``."""
        return self._exchange.send(
            self._settings.method,
            self._settings.url,
            fill_in(self._settings.body, notification),
            {"Idempotency-Key": notification.id},
            deadline,
            lambda body: find_id(body, self._settings.id_field),
        )


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


def find_id(body: bytes, path: str) -> str:
    """The gateway's id at a path such as ``messages.0.id``; empty if there is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for step in path.split("."):
        value = _step(value, step)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)
    return text if _PROVIDER_ID.fullmatch(text) else ""


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None
