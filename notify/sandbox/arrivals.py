"""From what arrived on the wire to the value that is recorded. Pure."""

import json
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from notify.errors import InvalidInput
from notify.sandbox.answers import Answer
from notify.sandbox.mailtext import read_mail
from notify.sandbox.records import Received


@dataclass(frozen=True, kw_only=True)
class Sms:
    """What the SMS gateway is asked to send."""

    to: str
    text: str
    id: str


def parse_sms(headers: Mapping[str, str], body: bytes) -> Sms:
    """Read the body of ``POST /sms``: JSON, or a form."""
    try:
        values: object = _form(body) if _is_form(headers) else json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"sms: malformed body: {error}") from error
    if not isinstance(values, dict):
        raise InvalidInput("sms: the body must be an object")
    to, text = _text(values, "to"), _text(values, "text")
    fallback = headers.get("idempotency-key", "")
    return Sms(to=to, text=text, id=_text(values, "id") if "id" in values else fallback)


def _is_form(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith("application/x-www-form-urlencoded")


def _form(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict"))


def _text(values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        raise InvalidInput(f"sms: {key}: must be a string")
    return value


def sms_received(sms: Sms, headers: dict[str, str], body: bytes, answer: Answer) -> Received:
    """Return the record of one request to send an SMS."""
    return Received(
        channel="sms",
        recipient=sms.to,
        id=sms.id,
        body=sms.text,
        subject="",
        headers=headers,
        raw=b64encode(body).decode(),
        at=time.time(),
        accepted=answer.http_outcome.startswith("2"),
        answered=answer.http_outcome,
    )


def hook_received(path: str, headers: dict[str, str], body: bytes, answer: Answer) -> Received:
    """Return the record of one webhook request."""
    return Received(
        channel="webhook",
        recipient=path,
        id=headers.get("webhook-id", ""),
        body=body.decode(errors="replace"),
        subject="",
        headers=headers,
        raw=b64encode(body).decode(),
        at=time.time(),
        accepted=answer.http_outcome.startswith("2"),
        answered=answer.http_outcome,
    )


def mail_received(recipient: str, content: bytes, answered: str) -> Received:
    """Return the record of a mail to one of its recipients; no content when refused earlier."""
    mail = read_mail(content)
    return Received(
        channel="email",
        recipient=recipient,
        id=mail.id,
        body=mail.text,
        subject=mail.headers.get("subject", ""),
        headers=mail.headers,
        raw=b64encode(content).decode(),
        at=time.time(),
        accepted=answered.startswith("2"),
        answered=answered,
    )
