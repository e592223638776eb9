"""SMS through a gateway with an HTTP interface that the configuration describes."""

import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from notify.channels.bodies import find_id
from notify.channels.exchange import Call, Exchange
from notify.channels.expiry import seconds_left
from notify.config.providers import HttpSmsProvider
from notify.notification import Notification
from notify.outcomes import Receipt

_PLACEHOLDER: Final = re.compile(r"\{(id|recipient|body|priority|validity)\}")
_VALIDITY: Final = "{validity}"


class HttpSms:
    """Sends the JSON body of the configuration with its placeholders filled in."""

    def __init__(
        self,
        settings: HttpSmsProvider,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._exchange = Exchange(settings, tls=tls, secrets=_credentials(settings.url))

    @property
    def name(self) -> str:
        return self._settings.name

    @property
    def exchange(self) -> Exchange:
        return self._exchange

    def send(self, notification: Notification, *, deadline: float) -> Receipt:
        """Hand one text to the gateway. Raises ``DeliveryFailure``."""
        validity = seconds_left(notification, self._clock(), self._settings.max_validity)
        call = Call(
            notification=notification,
            method=self._settings.method,
            url=self._settings.url,
            content=fill_in(self._settings.body, notification, validity),
            headers={"Idempotency-Key": notification.id},
        )
        path = self._settings.id_field
        return self._exchange.send(call, deadline, lambda body: find_id(body, path))


def _credentials(url: str) -> Iterator[str]:
    """What opens the gateway, where that stands in its URL."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    yield from (password, f"{user}:{password}" if password else "")
    yield from (value for _, value in parse_qsl(parts.query))


def fill_in(template: Any, notification: Notification, validity: int | None = None) -> Any:
    """The template with the placeholders in its texts replaced, each once.

    A text that is ``{validity}`` becomes a number; where there is none, each text that has
    it is left out, with its key.
    """
    values = {
        "id": notification.id,
        "recipient": notification.recipient,
        "body": notification.body or "",
        "priority": notification.priority,
    }
    return _fill(template, values if validity is None else {**values, "validity": validity})


def _fill(template: Any, values: Mapping[str, str | int]) -> Any:
    if template == _VALIDITY:
        return values["validity"]
    if isinstance(template, str):
        return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), template)
    if isinstance(template, dict):
        return {key: _fill(each, values) for key, each in template.items() if _has(values, each)}
    if isinstance(template, list):
        return [_fill(each, values) for each in template if _has(values, each)]
    return template


def _has(values: Mapping[str, str | int], template: Any) -> bool:
    return "validity" in values or not (isinstance(template, str) and _VALIDITY in template)
