"""The notification: what a caller asks to be delivered, as one frozen value.

Everything that can be known to be wrong without asking anybody is refused here, so that
a notification that exists can be encoded, stored and sent.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from notify.attachments import Attachment, check_attachments, read_attachments
from notify.errors import InvalidNotification
from notify.recipients import RECIPIENT_CHECKS, unsubscribe_problem

VERSION: Final = 1
CHANNELS: Final = ("sms", "email", "webhook")
PRIORITIES: Final = ("urgent", "normal")

# Safe in Redis keys, AMQP and HTTP headers, and in signed content, where Standard Webhooks
# separates the id from what follows by a full stop.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,127}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}")
_LINES = ("recipient", "subject", "unsubscribe", "template", "template_version")
_MAX_LABELS = 20
_MAX_LABEL_VALUE = 256


def new_id() -> str:
    """A new unique notification id."""
    return uuid.uuid4().hex


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Notification:
    """One message for one recipient through one channel.

    ``id`` is the caller's idempotency key: publishing the same content twice under one id
    delivers it once. ``recipient`` is a phone number in E.164 form (sms), an address
    (email) or an http(s) URL (webhook). ``data`` is any JSON value and is what a webhook
    posts; without it ``subject`` and ``body`` are posted. An email may have ``attachments``
    and an https URL to ``unsubscribe``. Nothing is sent after ``expires_at``. Raises
    ``InvalidNotification``, naming the field.
    """

    channel: str
    recipient: str
    id: str = field(default_factory=new_id)
    priority: str = "normal"
    subject: str | None = None
    body: str | None = None
    html: str | None = None
    data: Any = None
    attachments: tuple[Attachment, ...] = ()
    unsubscribe: str | None = None
    template: str | None = None
    template_version: str | None = None
    expires_at: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime = field(default_factory=_now)

    def __post_init__(self) -> None:
        _check_scalars(self)
        _check_recipient(self.channel, self.recipient)
        _check_content(self)
        _check_unsubscribe(self.channel, self.unsubscribe)
        check_attachments(self.channel, self.attachments, self.html)
        _check_labels(self.labels)
        for name in ("expires_at", "created_at"):
            _check_instant(name, getattr(self, name), optional=name == "expires_at")

    @property
    def digest(self) -> str:
        """128 bits over what the recipient would get: channel, recipient and content."""
        content = [self.channel, self.recipient, self.subject, self.body, self.html, self.data]
        # What came later is left out where there is none: digests outlive a release.
        later = {name: v for name, v in self._later() if v}
        if later:
            content.append(later)
        return hashlib.sha256(_canonical(content)).hexdigest()[:32]

    def _later(self) -> list[tuple[str, Any]]:
        files = [each.to_dict() for each in self.attachments]
        return [("attachments", files), ("unsubscribe", self.unsubscribe)]

    def expired(self, now: datetime) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def evolve(self, **changes: Any) -> Self:
        """A copy with other values, checked like a new one."""
        return replace(self, **changes)

    @property
    def size(self) -> int:
        """Bytes of its JSON form."""
        return len(json.dumps(self.to_dict(), ensure_ascii=False).encode())

    def to_dict(self) -> dict[str, Any]:
        """The versioned JSON form; fields without a value are left out."""
        values: dict[str, Any] = {"v": VERSION}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, datetime):
                value = value.isoformat()
            if item.name == "labels":
                value = dict(value) or None
            if item.name == "attachments":
                value = [each.to_dict() for each in value] or None
            if value is not None:
                values[item.name] = value
        return values

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Reads the JSON form. Raises ``InvalidNotification``, naming the field."""
        known = {item.name for item in fields(cls)}
        _check_names(values, known)
        present = {name: values[name] for name in known if name in values}
        for name in ("expires_at", "created_at"):
            if name in present:
                present[name] = parse_instant(name, present[name])
        if "attachments" in present:
            present["attachments"] = read_attachments(present["attachments"])
        return cls(**present)


def _check_names(values: Any, known: set[str]) -> None:
    if not isinstance(values, Mapping):
        raise InvalidNotification("notification", "must be an object")
    if values.get("v") != VERSION:
        raise InvalidNotification("v", f"must be {VERSION}")
    for name in values:
        if name != "v" and name not in known:
            # Shown only where it can be nothing but a name.
            shown = isinstance(name, str) and _FIELD.fullmatch(name)
            raise InvalidNotification(
                name if shown else "notification",
                "is not a field of a notification" if shown else "has a name that is no field's",
            )
    for name in ("channel", "recipient"):
        if name not in values:
            raise InvalidNotification(name, "is missing")


def parse_instant(field_name: str, value: Any) -> datetime:
    """An ISO 8601 date and time with an offset. Raises ``InvalidNotification``."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidNotification(field_name, "must be an ISO 8601 date and time") from None


def _canonical(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _check_scalars(n: Notification) -> None:
    if n.channel not in CHANNELS:
        raise InvalidNotification("channel", f"must be one of {', '.join(CHANNELS)}")
    if n.priority not in PRIORITIES:
        raise InvalidNotification("priority", f"must be one of {', '.join(PRIORITIES)}")
    if not isinstance(n.id, str) or not _ID.fullmatch(n.id):
        raise InvalidNotification("id", "must be 1 to 128 letters, digits, '_', ':' or '-'")
    for name in (*_LINES, "body", "html"):
        _check_text(name, getattr(n, name))
    for name in _LINES:
        if _CONTROL.search(getattr(n, name) or ""):
            raise InvalidNotification(name, "must not contain control characters or line breaks")


def _check_text(name: str, value: Any) -> None:
    if value is None and name != "recipient":
        return
    if not isinstance(value, str):
        raise InvalidNotification(name, "must be text")
    if "\x00" in value:
        raise InvalidNotification(name, "must not contain NUL")
    _check_encodable(name, value)


def _check_encodable(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidNotification(name, "contains an unpaired surrogate") from None


def _check_recipient(channel: str, recipient: str) -> None:
    problem = RECIPIENT_CHECKS[channel](recipient)
    if problem:
        raise InvalidNotification("recipient", problem)


_ALLOWED_CONTENT = {
    "sms": {"body"},
    "email": {"subject", "body", "html"},
    "webhook": {"subject", "body", "data"},
}


def _check_content(n: Notification) -> None:
    given = {name for name in ("subject", "body", "html", "data") if getattr(n, name) is not None}
    for name in sorted(given - _ALLOWED_CONTENT[n.channel]):
        raise InvalidNotification(name, f"is not used by channel {n.channel}")
    if n.channel == "sms" and not n.body:
        raise InvalidNotification("body", "is required for sms")
    if n.channel == "email" and not n.subject:
        raise InvalidNotification("subject", "is required for email")
    if n.channel == "email" and not (n.body or n.html):
        raise InvalidNotification("body", "body or html is required for email")
    if n.channel == "webhook" and not given:
        raise InvalidNotification("data", "data or body is required for webhook")
    if n.data is not None:
        _check_data(n.data)


def _check_unsubscribe(channel: str, url: str | None) -> None:
    if url is None:
        return
    problem = unsubscribe_problem(url)
    if channel != "email":
        problem = f"is not used by channel {channel}"
    if problem:
        raise InvalidNotification("unsubscribe", problem)


def _check_data(data: Any) -> None:
    try:
        text = json.dumps(data, allow_nan=False, ensure_ascii=False)
        named_by_text = _has_text_keys(data)
    except (TypeError, ValueError, RecursionError):
        raise InvalidNotification("data", "must be a JSON value") from None
    if not named_by_text:
        raise InvalidNotification("data", "must have text for the names in objects")
    _check_encodable("data", text)


def _has_text_keys(value: Any) -> bool:
    """JSON would turn other keys into text, and the digest of what arrives be another."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _has_text_keys(v) for key, v in value.items())
    return all(map(_has_text_keys, value)) if isinstance(value, list | tuple) else True


def _check_labels(labels: Any) -> None:
    if not isinstance(labels, Mapping) or len(labels) > _MAX_LABELS:
        raise InvalidNotification("labels", f"must be at most {_MAX_LABELS} names with texts")
    for name, value in labels.items():
        if not isinstance(name, str) or not _LABEL.fullmatch(name):
            raise InvalidNotification("labels", "a name has characters other than A-Z a-z 0-9 _.-")
        if not isinstance(value, str) or len(value) > _MAX_LABEL_VALUE or _CONTROL.search(value):
            raise InvalidNotification(
                "labels", f"{name} must be one line of at most {_MAX_LABEL_VALUE} characters"
            )
        _check_encodable("labels", value)


def _check_instant(name: str, value: Any, *, optional: bool) -> None:
    if value is None and optional:
        return
    if not isinstance(value, datetime):
        raise InvalidNotification(name, "must be a date and time")
    if value.utcoffset() is None:
        raise InvalidNotification(name, "must have a UTC offset")
