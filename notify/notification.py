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
from notify.fieldchecks import (
    check_data,
    check_instant,
    check_labels,
    check_text,
    has_control,
)
from notify.recipients import RECIPIENT_CHECKS, unsubscribe_problem

VERSION: Final = 1
CHANNELS: Final = ("sms", "email", "webhook")
PRIORITIES: Final = ("urgent", "normal")

# Safe in Redis keys, AMQP and HTTP headers, and in signed content, where Standard Webhooks
# separates the id from what follows by a full stop.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,127}")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}")
_LINES = ("recipient", "subject", "unsubscribe", "template", "template_version")
_TEXTS = (*_LINES, "body", "html")


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
    _digest: str = field(default="", init=False, repr=False, compare=False)
    _data_size: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_scalars(self)
        _check_recipient(self.channel, self.recipient)
        _check_content(self)
        if self.data is not None:
            object.__setattr__(self, "_data_size", check_data(self.data))
        _check_unsubscribe(self.channel, self.unsubscribe)
        if self.attachments != ():
            check_attachments(self.channel, self.attachments, self.html)
        check_labels(self.labels)
        check_instant("expires_at", self.expires_at, optional=True)
        check_instant("created_at", self.created_at, optional=False)

    @property
    def digest(self) -> str:
        """128 bits over what the recipient would get: channel, recipient and content."""
        if not self._digest:
            # Each worker asks several times.
            object.__setattr__(self, "_digest", self._digested())
        return self._digest

    def _digested(self) -> str:
        content = [self.channel, self.recipient, self.subject, self.body, self.html, self.data]
        # What came later is left out where there is none: digests outlive a release.
        files = [each.to_dict() for each in self.attachments]
        if files or self.unsubscribe:
            later = {"attachments": files, "unsubscribe": self.unsubscribe}
            content.append({name: value for name, value in later.items() if value})
        return hashlib.sha256(_canonical(content).encode()).hexdigest()[:32]

    def expired(self, now: datetime) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def evolve(self, **changes: Any) -> Self:
        """A copy with other values, checked like a new one."""
        return replace(self, **changes)

    @property
    def size(self) -> int:
        """Bytes of its JSON form."""
        return len(json.dumps(self.to_dict(), ensure_ascii=False).encode())

    @property
    def size_at_most(self) -> int:
        """Not less than its ``size``; cheap where there is no file."""
        if self.attachments:
            return self.size
        texts = [getattr(self, name) or "" for name in _TEXTS]
        for label in self.labels.items():
            texts += label
        # No character takes more than a control character, which JSON writes as \u001f.
        return _SIZE_AROUND + self._data_size + 8 * len(texts) + 6 * sum(map(len, texts))

    def to_dict(self) -> dict[str, Any]:
        """The versioned JSON form; fields without a value are left out."""
        values: dict[str, Any] = {"v": VERSION}
        for name in _FIELDS:
            value = getattr(self, name)
            if value is not None:
                values[name] = value
        self._write_compound(values)
        return values

    def _write_compound(self, values: dict[str, Any]) -> None:
        """Those that JSON has in another form, in their places."""
        values["created_at"] = self.created_at.isoformat()
        if self.expires_at is not None:
            values["expires_at"] = self.expires_at.isoformat()
        for name in ("labels", "attachments"):
            if not getattr(self, name):
                del values[name]
        if self.labels:
            values["labels"] = dict(self.labels)
        if self.attachments:
            values["attachments"] = [each.to_dict() for each in self.attachments]

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Reads the JSON form. Raises ``InvalidNotification``, naming the field."""
        _check_names(values)
        present = {name: value for name, value in values.items() if name != "v"}
        for name in ("expires_at", "created_at"):
            if name in present:
                present[name] = parse_instant(name, present[name])
        if "attachments" in present:
            present["attachments"] = read_attachments(present["attachments"])
        return cls(**present)


_FIELDS: Final = tuple(item.name for item in fields(Notification) if item.init)
_KNOWN: Final = frozenset((*_FIELDS, "v"))
# The names with what JSON writes around them and their values; the id; two times; what is short.
_SIZE_AROUND: Final = sum(len(name) + 8 for name in _KNOWN) + 128 + 2 * 48 + 64


def _check_names(values: Any) -> None:
    if type(values) is not dict and not isinstance(values, Mapping):
        raise InvalidNotification("notification", "must be an object")
    if values.get("v") != VERSION:
        raise InvalidNotification("v", f"must be {VERSION}")
    for name in values:
        if name not in _KNOWN:
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


_canonical: Final = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":")
).encode


def _check_scalars(n: Notification) -> None:
    if n.channel not in CHANNELS:
        raise InvalidNotification("channel", f"must be one of {', '.join(CHANNELS)}")
    if n.priority not in PRIORITIES:
        raise InvalidNotification("priority", f"must be one of {', '.join(PRIORITIES)}")
    if not isinstance(n.id, str) or not _ID.fullmatch(n.id):
        raise InvalidNotification("id", "must be 1 to 128 letters, digits, '_', ':' or '-'")
    for name in _TEXTS:
        check_text(name, getattr(n, name))
    for name in _LINES:
        value = getattr(n, name)
        if value and has_control(value):
            raise InvalidNotification(name, "must not contain control characters or line breaks")


def _check_recipient(channel: str, recipient: str) -> None:
    problem = RECIPIENT_CHECKS[channel](recipient)
    if problem:
        raise InvalidNotification("recipient", problem)


_UNUSED_CONTENT = {
    "sms": ("data", "html", "subject"),
    "email": ("data",),
    "webhook": ("html",),
}


def _check_content(n: Notification) -> None:
    for name in _UNUSED_CONTENT[n.channel]:
        if getattr(n, name) is not None:
            raise InvalidNotification(name, f"is not used by channel {n.channel}")
    if n.channel == "sms" and not n.body:
        raise InvalidNotification("body", "is required for sms")
    if n.channel == "email" and not n.subject:
        raise InvalidNotification("subject", "is required for email")
    if n.channel == "email" and not (n.body or n.html):
        raise InvalidNotification("body", "body or html is required for email")
    if n.channel == "webhook" and n.subject is n.body is n.data is None:
        raise InvalidNotification("data", "data or body is required for webhook")


def _check_unsubscribe(channel: str, url: str | None) -> None:
    if url is None:
        return
    problem = unsubscribe_problem(url)
    if channel != "email":
        problem = f"is not used by channel {channel}"
    if problem:
        raise InvalidNotification("unsubscribe", problem)
