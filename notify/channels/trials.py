"""Tries a provider out, outside of the pipeline: what is asked, and what comes back, redacted."""

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from notify.channels.excerpts import Private, excerpt, hide
from notify.channels.exchange import Exchange, Tap
from notify.channels.outlines import Request
from notify.channels.verdicts import Answer
from notify.notification import Notification
from notify.outcomes import DeliveryFailure, Outcome

_SECRET_NAME: Final = re.compile(r"authorization|signature|secret|token|key$", re.IGNORECASE)
_HARMLESS: Final = "idempotency-key"
_MASK: Final = "***"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """What is known of one try. ``request`` is empty where there is none that can be shown."""

    request: str = ""
    status: int | None = None
    answer: str = ""
    outcome: Outcome | None = None


class _Unsent(Exception):
    """It was a dry run."""


class _Record(Tap):
    def __init__(self, notification: Notification, dry: bool) -> None:
        self._notification = notification
        self.dry = dry
        self.request = ""
        self.status: int | None = None
        self.answer = ""

    def asking(self, request: Request, private: Private) -> None:
        self.request = _shown(request, self._notification, private)
        if self.dry:
            raise _Unsent

    def told(self, answer: Answer, private: Private) -> None:
        self.status = answer.status
        self.answer = excerpt(answer.body, private)


def rehearse(provider: Any, notification: Notification) -> Trial:
    """The request as it would be sent; ``outcome`` is why it would not be."""
    exchange = getattr(provider, "exchange", None)
    if not isinstance(exchange, Exchange):
        return Trial()
    return _run(provider, exchange, notification, deadline=1.0, dry=True)


def try_out(provider: Any, notification: Notification, deadline: float) -> Trial:
    """Sends one real message."""
    exchange = getattr(provider, "exchange", None)
    if isinstance(exchange, Exchange):
        return _run(provider, exchange, notification, deadline=deadline, dry=False)
    outcome = _send(provider, notification, deadline)
    return Trial(outcome=outcome, answer=outcome.answer if _failed(outcome) else "")


def _run(
    provider: Any, exchange: Exchange, notification: Notification, *, deadline: float, dry: bool
) -> Trial:
    record = _Record(notification, dry)
    exchange.tap = record
    try:
        outcome = _send(provider, notification, deadline)
    except _Unsent:
        outcome = None
    finally:
        exchange.tap = None
    return Trial(
        request=record.request, status=record.status, answer=record.answer, outcome=outcome
    )


def _send(provider: Any, notification: Notification, deadline: float) -> Any:
    try:
        return provider.send(notification, deadline=deadline)
    except DeliveryFailure as failure:
        return failure


def _failed(outcome: Outcome) -> bool:
    return isinstance(outcome, DeliveryFailure)


def _shown(request: Request, notification: Notification, private: Private) -> str:
    """A request in HTTP's own form, without secrets and recipient; what is sent to a person
    stands in it."""
    parts = urlsplit(request.url)
    place = hide(f"{parts.path}?{parts.query}" if parts.query else parts.path, private.secrets)
    if notification.channel == "webhook":
        # The URL of a robot is its password, and its query may be a signature.
        place = f"/{_MASK}"
    port = f":{parts.port}" if parts.port else ""
    lines = [f"{request.method} {parts.scheme}://{parts.hostname}{port}{place}"]
    for name, value in request.headers.values():
        secret = _SECRET_NAME.search(name) and name.lower() != _HARMLESS
        lines.append(f"{name}: {_MASK if secret else hide(value, private.secrets)}")
    body = request.body.decode(errors="replace")
    return "\n".join([*lines, "", hide(body, private.secrets)])
