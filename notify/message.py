"""The wire format: a notification as a Celery task message (protocol 2, JSON only).

Any program can publish it; ``README.md`` shows the exact message. Protocol 2 is described
in Celery's documentation, "Task Messages". ``argsrepr`` and ``kwargsrepr`` are set by us
because Celery logs them and shows them to ``inspect``: they must not hold the content.
"""

import json
import os
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from notify.errors import InvalidNotification, MessageError
from notify.notification import Notification, parse_instant
from notify.recipients import NULL_RECIPIENTS

TASK: Final = "notify.deliver"
CONTENT_TYPE: Final = "application/json"

ID: Final = "notify-id"
ATTEMPT: Final = "notify-attempt"
GENERATION: Final = "notify-generation"
FIRST_QUEUED: Final = "notify-first-queued"
REASON: Final = "notify-reason"
DETAIL: Final = "notify-detail"
ATTEMPTS: Final = "notify-attempts"
TRACE: Final = "traceparent"
ALONE: Final = "notify-alone"
PROVIDER: Final = "notify-provider"
HEARTBEAT: Final = "notify-heartbeat"
HEARTBEAT_ID: Final = "heartbeat:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """A notification on its way: which attempt of which generation, and since when.

    A generation begins when the notification is published or replayed; its attempts count
    from 1. ``first_queued`` is the start of the generation, from which retries are limited.
    ``alone`` asks for a process of its own: it may have killed a worker. ``provider`` is the
    one that may have had it already, and can tell a repeat. A ``heartbeat`` goes all the way
    but to a provider.
    """

    notification: Notification
    attempt: int = 1
    generation: int = 1
    first_queued: datetime = field(default_factory=lambda: datetime.now(UTC))
    trace: str | None = None
    alone: bool = False
    provider: str = ""
    heartbeat: bool = False

    @property
    def routing_key(self) -> str:
        return f"{self.notification.channel}.{self.notification.priority}"

    @property
    def queue(self) -> tuple[str, str]:
        """Channel and priority."""
        return self.notification.channel, self.notification.priority

    def evolve(self, **changes: Any) -> Self:
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """What is handed to the broker. ``common`` are those headers that many messages share, one
    value for all of them: their encoding is kept."""

    body: bytes
    headers: dict[str, Any]
    properties: dict[str, Any]
    routing_key: str
    common: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Its confirm is told from others' by this.
        if "correlation_id" not in self.properties:
            self.properties["correlation_id"] = str(uuid.uuid4())

    @property
    def token(self) -> str:
        return str(self.properties["correlation_id"])


def encode(envelope: Envelope, *, now: datetime) -> Message:
    """The message for the next attempt, with a task id of its own."""
    task_id = _new_task_id()
    return Message(
        body=f"{_BEFORE}{_json(envelope.notification.to_dict())}{_AFTER}".encode(),
        headers=_COMMON | _task_headers(task_id, envelope) | _own_headers(envelope),
        properties=_properties(task_id, envelope, now),
        routing_key=envelope.routing_key,
        common=_COMMON,
    )


def _new_task_id() -> str:
    """A random UUID (version 4); ``uuid`` asks the kernel for each, and others run meanwhile."""
    pid = os.getpid()
    chance = _chances.get(pid) or _chances.setdefault(pid, random.Random())
    digits = f"{chance.getrandbits(128) & _RANDOM | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def encode_parts(envelope: Envelope) -> tuple[dict[str, Any], dict[str, Any]]:
    """What ``decode`` takes: our headers, and the notification's JSON form."""
    return _own_headers(envelope), envelope.notification.to_dict()


# RFC 9562: all bits are random but for four that tell the version and two that tell the variant.
_RANDOM: Final = ~(0xF << 76 | 0x3 << 62)
_VERSION_4: Final = 0x4 << 76 | 0x2 << 62
# By process: a child must not go on where its parent is, and some servers (uwsgi) fork without
# telling Python. Nobody else seeds these.
_chances: Final[dict[int, random.Random]] = {}
_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# The body around the notification: no arguments, one keyword, and nothing that Celery embeds.
_BEFORE: Final = '[[],{"notification":'
_AFTER: Final = '},{"callbacks":null,"errbacks":null,"chain":null,"chord":null}]'
_COMMON: Final[dict[str, Any]] = {
    "lang": "py",
    "task": TASK,
    "parent_id": None,
    "group": None,
    "eta": None,
    "expires": None,
    "retries": 0,
    "timelimit": [None, None],
    "argsrepr": "()",
    "origin": "notify",
    "ignore_result": True,
}


def _task_headers(task_id: str, envelope: Envelope) -> dict[str, Any]:
    return {
        "id": task_id,
        "root_id": task_id,
        "kwargsrepr": f"{{'id': '{envelope.notification.id}'}}",
    }


def _own_headers(envelope: Envelope) -> dict[str, Any]:
    headers: dict[str, Any] = {
        ID: envelope.notification.id,
        ATTEMPT: envelope.attempt,
        GENERATION: envelope.generation,
        FIRST_QUEUED: envelope.first_queued.isoformat(),
    }
    if envelope.trace:
        headers[TRACE] = envelope.trace
    if envelope.alone:
        headers[ALONE] = True
    if envelope.provider:
        headers[PROVIDER] = envelope.provider
    if envelope.heartbeat:
        headers[HEARTBEAT] = True
    return headers


def _properties(task_id: str, envelope: Envelope, now: datetime) -> dict[str, Any]:
    return {
        "content_type": CONTENT_TYPE,
        "content_encoding": "utf-8",
        "correlation_id": task_id,
        "message_id": envelope.notification.id,
        "delivery_mode": 2,
        "timestamp": int(now.timestamp()),
        "type": TASK,
    }


def decode(headers: Mapping[str, Any], notification: Any) -> Envelope:
    """Reads what a worker received. Raises ``MessageError`` saying what is wrong.

    A publisher that is not ours may leave our headers out: then it is a first attempt.
    """
    try:
        # A new id would be made up for each delivery, and each would be sent.
        if isinstance(notification, Mapping) and "id" not in notification:
            raise InvalidNotification("id", "is missing")
        value = Notification.from_dict(notification)
        first = headers.get(FIRST_QUEUED)
        first_queued = parse_instant(FIRST_QUEUED, first) if first else value.created_at
        if first_queued.utcoffset() is None:
            raise InvalidNotification(FIRST_QUEUED, "must have a UTC offset")
    except InvalidNotification as error:
        raise MessageError(str(error)) from error
    return Envelope(
        notification=value,
        attempt=_counter(headers, ATTEMPT),
        generation=_counter(headers, GENERATION),
        first_queued=first_queued,
        trace=_trace(headers),
        alone=headers.get(ALONE) is True,
        provider=pinned(headers),
        heartbeat=is_heartbeat(headers, value.id, value.channel, value.recipient),
    )


def decode_body(headers: Mapping[str, Any], body: bytes) -> Envelope:
    """Reads a raw work message. Raises ``MessageError``."""
    if headers.get("task") != TASK:
        raise MessageError("is not a notification")
    try:
        _, keywords, _ = json.loads(body)
        notification = keywords["notification"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MessageError("body is not a task message in JSON") from None
    return decode(headers, notification)


def _counter(headers: Mapping[str, Any], name: str) -> int:
    value = headers.get(name, 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise MessageError(f"{name}: must be a positive whole number")
    return value


def pinned(headers: Mapping[str, Any]) -> str:
    """The provider that may have had it already."""
    value = headers.get(PROVIDER)
    return value if isinstance(value, str) and len(value) <= 32 else ""


def is_heartbeat(
    headers: Mapping[str, Any], id: str | None, channel: str | None, recipient: str | None
) -> bool:
    """Only where all of it says so: the header alone must not keep anything from its recipient,
    nor settle another notification's id."""
    null, known = NULL_RECIPIENTS.get(channel or ""), (id or "").startswith(HEARTBEAT_ID)
    return headers.get(HEARTBEAT) is True and known and null is not None and recipient == null


def _trace(headers: Mapping[str, Any]) -> str | None:
    value = headers.get(TRACE)
    return value if isinstance(value, str) and len(value) <= 128 else None
