"""Messages that somebody else put on a work queue, and what must become of each."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import amqp

from notify.broker.channel import connect, drop
from notify.message import Envelope, Message, encode
from notify.topology import EXCHANGE
from tests.deployment import sms

BODY: Final = "Your code is 493-201"
RECIPIENT: Final = "+491707654321"
BIG: Final = "x" * 300_000


_ANY: Final = ("unparseable", "invalid", "internal_error")


@dataclass(frozen=True, kw_only=True)
class Stranger:
    """A message; ``delivered``, or archived for one of ``reasons``."""

    body: bytes
    headers: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    delivered: bool = False
    reasons: tuple[str, ...] = _ANY


def good(id: str, **values: Any) -> Message:
    notification = sms(BODY, RECIPIENT, id=id, **values)
    return encode(Envelope(notification=notification), now=datetime.now(UTC))


def changed(name: str, *, delivered: bool = False, **headers: object) -> Stranger:
    return own(name, headers, delivered=delivered)


def own(name: str, headers: dict[str, object], *, delivered: bool = False) -> Stranger:
    """A good message with other headers, whose names may be any."""
    message = good(name)
    return Stranger(
        body=message.body,
        headers=message.headers | headers,
        properties=message.properties,
        delivered=delivered,
    )


def without(id: str, *names: str, delivered: bool) -> Stranger:
    message = good(id)
    kept = {name: value for name, value in message.headers.items() if name not in names}
    return Stranger(
        body=message.body, headers=kept, properties=message.properties, delivered=delivered
    )


def bare(id: str, body: bytes, **properties: Any) -> Stranger:
    """A body that is not ours under headers that are."""
    message = good(id)
    return Stranger(body=body, headers=message.headers, properties=message.properties | properties)


def embedded(id: str, embed: Any) -> Stranger:
    """A good notification, and something that should follow it."""
    args, keywords, _ = json.loads(good(id).body)
    return bare(id, json.dumps([args, keywords, embed]).encode())


def notification(name: str, *reasons: str, **changes: Any) -> Stranger:
    """A good message whose notification has other values."""
    message = good(name)
    args, keywords, embed = json.loads(message.body)
    keywords["notification"].update(changes)
    body = json.dumps([args, keywords, embed]).encode()
    return Stranger(
        body=body,
        headers=message.headers,
        properties=message.properties,
        reasons=reasons or _ANY,
    )


def _at(hours: int) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


def _protocol_1(id: str) -> Stranger:
    keywords = {"notification": sms(BODY, RECIPIENT, id=id).to_dict()}
    body = {"task": "notify.deliver", "id": id, "args": [], "kwargs": keywords}
    return Stranger(
        body=json.dumps(body).encode(),
        properties={"content_type": "application/json", "content_encoding": "utf-8"},
        delivered=True,
    )


def _headless(id: str) -> Stranger:
    message = good(id)
    return Stranger(body=message.body, properties=message.properties)


CASES: Final[dict[str, Callable[[str], Stranger]]] = {
    "not-json": lambda id: bare(id, b"\x00\xff" + BODY.encode()),
    "json-list": lambda id: bare(id, b"[]"),
    "json-number": lambda id: bare(id, b"1"),
    "json-null": lambda id: bare(id, b"null"),
    "json-object": lambda id: bare(id, b'{"a":1}'),
    "json-deep": lambda id: bare(id, b"[" * 100_000),
    "json-two": lambda id: bare(id, b"[[],{}]"),
    "json-types": lambda id: bare(id, b'[1,"x",null]'),
    "embed-list": lambda id: embedded(id, [1]),
    "embed-text": lambda id: embedded(id, "x"),
    "embed-other": lambda id: embedded(id, {"args": [1], "hostname": "x"}),
    "embed-callbacks": lambda id: embedded(id, {"callbacks": [{"task": "notify.deliver"}]}),
    "embed-chain": lambda id: embedded(id, {"chain": ["x"]}),
    "keywords-self": lambda id: bare(id, b'[[],{"self":1,"notification":{}},{}]'),
    "keywords-list": lambda id: bare(id, b"[[],[],{}]"),
    "empty": lambda id: bare(id, b""),
    "no-headers": _headless,
    "task-unknown": lambda id: changed(id, task="other.task"),
    "task-no-text": lambda id: changed(id, task=7),
    "pickle": lambda id: bare(id, b"\x80\x04N.", content_type="application/x-python-serialize"),
    "yaml": lambda id: bare(id, b"a: 1", content_type="application/x-yaml"),
    "type-unknown": lambda id: bare(id, b"abc", content_type="x/y"),
    "charset-unknown": lambda id: bare(id, b"[[],{},{}]", content_encoding="klingon"),
    "attempt-text": lambda id: own(id, {"notify-attempt": "x"}),
    "attempt-zero": lambda id: own(id, {"notify-attempt": 0}),
    "attempt-huge": lambda id: own(id, {"notify-attempt": 2**40}),
    "generation-list": lambda id: own(id, {"notify-generation": [1]}),
    "first-queued-text": lambda id: own(id, {"notify-first-queued": "yesterday"}),
    "id-number": lambda id: own(id, {"id": 7, "root_id": [1]}, delivered=True),
    "id-missing": lambda id: without(id, "id", delivered=False),
    "retries-text": lambda id: changed(id, delivered=True, retries="many"),
    "lang-list": lambda id: changed(id, delivered=True, lang=[1], origin={"a": [1]}),
    "eta-past": lambda id: changed(id, delivered=True, eta=_at(-5)),
    "eta-future": lambda id: changed(id, delivered=True, eta=_at(5)),
    "eta-text": lambda id: changed(id, delivered=True, eta="soon"),
    "expires-past": lambda id: changed(id, delivered=True, expires=_at(-5)),
    "expires-future": lambda id: changed(id, delivered=True, expires=_at(5)),
    "expires-text": lambda id: changed(id, delivered=True, expires="never"),
    "timelimit": lambda id: changed(id, delivered=True, timelimit=["a", {"b": 1}]),
    "ignore-result": lambda id: changed(id, delivered=True, ignore_result="maybe"),
    "stamps": lambda id: changed(id, delivered=True, stamped_headers=["a"], stamps={"a": [1]}),
    "raw-header": lambda id: changed(id, delivered=True, other=b"\xff\xfe"),
    "own-headers-missing": lambda id: without(
        id, "notify-id", "notify-attempt", "notify-first-queued", delivered=True
    ),
    "protocol-1": _protocol_1,
    "wrong-channel": lambda id: notification(
        id, "invalid", channel="email", recipient="a@example.com", subject="s"
    ),
    "oversize": lambda id: notification(id, "invalid", body=BIG),
    "control-id": lambda id: notification(id, id="a\x00\x1b[31m\r\nb"),
    "id-not-text": lambda id: notification(id, id=7),
    "version-2": lambda id: notification(id, v=2),
    "unknown-field": lambda id: notification(id, surprise=BODY),
    "not-a-number": lambda id: notification(id, recipient=f"call {RECIPIENT}"),
    "expired-itself": lambda id: notification(id, "expired", expires_at=_at(-1)),
}


def publish(url: str, strangers: list[Stranger], routing_key: str) -> None:
    """As they are, by a client that checks nothing."""
    connection = connect(url, connect_timeout=5, read_timeout=10)
    try:
        channel = connection.connection.channel()
        channel.confirm_select()
        for stranger in strangers:
            message = amqp.Message(
                stranger.body, application_headers=stranger.headers, **stranger.properties
            )
            channel.basic_publish_confirm(message, exchange=EXCHANGE, routing_key=routing_key)
    finally:
        drop(connection)
