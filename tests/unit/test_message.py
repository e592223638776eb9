"""The wire format: pinned exactly, because programs in other languages publish it."""

import ctypes
import json
import os
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.errors import MessageError
from notify.message import TASK, Envelope, Message, decode, decode_body, encode
from tests.unit.values import CREATED, INSTANTS, VALID, make, notifications

NOW = datetime(2027, 3, 1, 9, 0, 5, tzinfo=UTC)


def on_the_wire(message: Message) -> tuple[dict[str, Any], bytes]:
    """Headers and body as another process gets them; the headers hold JSON values only."""
    return json.loads(json.dumps(message.headers)), message.body


@given(
    st.builds(
        Envelope,
        notification=notifications(),
        attempt=st.integers(1, 2**31 - 1),
        generation=st.integers(1, 2**31 - 1),
        first_queued=INSTANTS,
        trace=st.none() | st.just("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    )
)
def test_what_is_encoded_reads_back_the_same(envelope: Envelope) -> None:
    message = encode(envelope, now=NOW)
    assert decode_body(*on_the_wire(message)) == envelope
    notification = envelope.notification
    assert message.routing_key == f"{notification.channel}.{notification.priority}"


def test_the_message_is_exactly_this() -> None:
    notification = make(id="order-7", priority="urgent", body="Hello 您好", created_at=CREATED)
    envelope = Envelope(notification=notification, attempt=2, generation=3, first_queued=CREATED)
    message = encode(envelope, now=NOW)
    task_id = message.headers["id"]
    assert message.routing_key == "sms.urgent"
    assert message.body.decode() == (
        '[[],{"notification":{"v":1,"channel":"sms","recipient":"+491701234567","id":"order-7",'
        '"priority":"urgent","body":"Hello 您好","created_at":"2027-03-01T09:00:00+00:00"}},'
        '{"callbacks":null,"errbacks":null,"chain":null,"chord":null}]'
    )
    assert message.headers == {
        "lang": "py",
        "task": "notify.deliver",
        "id": task_id,
        "root_id": task_id,
        "parent_id": None,
        "group": None,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": "()",
        "kwargsrepr": "{'id': 'order-7'}",
        "origin": "notify",
        "ignore_result": True,
        "notify-id": "order-7",
        "notify-attempt": 2,
        "notify-generation": 3,
        "notify-first-queued": "2027-03-01T09:00:00+00:00",
    }
    assert message.properties == {
        "content_type": "application/json",
        "content_encoding": "utf-8",
        "correlation_id": task_id,
        "message_id": "order-7",
        "delivery_mode": 2,
        "timestamp": 1803891605,
        "type": "notify.deliver",
    }
    assert message.token == task_id


def test_every_copy_has_a_task_id_of_its_own() -> None:
    envelope = Envelope(notification=make())
    ids = {encode(envelope, now=NOW).headers["id"] for _ in range(200)}
    assert len(ids) == 200
    for id in ids:
        known = uuid.UUID(id)
        assert str(known) == id
        assert (known.version, known.variant) == (4, uuid.RFC_4122)


@pytest.mark.parametrize("fork", [os.fork, ctypes.PyDLL(None).fork], ids=["python", "c"])
def test_a_child_makes_other_task_ids_than_its_parent(fork: Callable[[], int]) -> None:
    """Also where a server forks without telling Python."""
    envelope = Envelope(notification=make())
    encode(envelope, now=NOW)
    reading, writing = os.pipe()
    child = fork()
    if child == 0:  # pragma: no cover
        os.write(writing, encode(envelope, now=NOW).token.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read().decode() != encode(envelope, now=NOW).token


def test_nothing_seeds_the_task_ids() -> None:
    envelope = Envelope(notification=make())
    tokens = set()
    for _ in range(2):
        random.seed(1)
        tokens.add(encode(envelope, now=NOW).token)
    assert len(tokens) == 2


@given(notifications())
def test_the_body_is_the_json_of_the_task(notification: Any) -> None:
    message = encode(Envelope(notification=notification), now=NOW)
    nothing = dict.fromkeys(("callbacks", "errbacks", "chain", "chord"))
    task = [[], {"notification": notification.to_dict()}, nothing]
    assert message.body == json.dumps(task, ensure_ascii=False, separators=(",", ":")).encode()


@given(notifications())
def test_no_header_or_property_holds_content(notification: Any) -> None:
    """Celery logs argsrepr and kwargsrepr, and shows them to ``inspect``."""
    marked = notification.evolve(body="Geheimwort 271828")
    message = encode(Envelope(notification=marked), now=NOW)
    beside = json.dumps([message.headers, message.properties], ensure_ascii=False)
    assert "Geheimwort" not in beside
    assert marked.recipient not in beside


def test_a_foreign_publisher_may_leave_our_headers_out() -> None:
    values = {"v": 1, "id": "order-7", "created_at": CREATED.isoformat(), **VALID["sms"]}
    body = json.dumps([[], {"notification": values}, {}]).encode()
    envelope = decode_body({"task": TASK, "id": "any"}, body)
    assert (envelope.attempt, envelope.generation) == (1, 1)
    assert envelope.first_queued == CREATED
    assert envelope.notification == make(id="order-7", created_at=CREATED)


@pytest.mark.parametrize("name", ["notify-attempt", "notify-generation"])
@pytest.mark.parametrize("value", [0, -1, 2**31, "2", 1.0, True, None, [], {}, b"1"])
def test_a_counter_that_is_none_is_named(name: str, value: Any) -> None:
    with pytest.raises(MessageError, match=name):
        decode({name: value}, make().to_dict())


@pytest.mark.parametrize("value", ["yesterday", "2027-03-01T09:00:00", 5, 1.5, [1], {"a": 1}, b"x"])
def test_a_first_queued_that_is_no_instant_is_named(value: Any) -> None:
    with pytest.raises(MessageError, match="notify-first-queued"):
        decode({"notify-first-queued": value}, make().to_dict())


@pytest.mark.parametrize("value", [5, None, ["00-a-b-01"], "x" * 129, b"x"])
def test_a_trace_that_is_none_is_left_out(value: Any) -> None:
    """It is for people who look, and no reason to refuse a notification."""
    assert decode({"traceparent": value}, make().to_dict()).trace is None


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (None, "notification"),
        ("text", "notification"),
        ([], "notification"),
        ({"v": 1, **VALID["sms"]}, "id: is missing"),
        ({"v": 2, "id": "a", **VALID["sms"]}, "v: "),
        ({"v": 1, "id": "a.b", **VALID["sms"]}, "id: "),
        ({"v": 1, "id": "a", **VALID["sms"], "recipient": "nobody"}, "recipient: "),
        ({"v": 1, "id": "a", **VALID["sms"], "more": 1}, "more: "),
    ],
)
def test_a_notification_that_is_none_is_refused_by_field(values: Any, named: str) -> None:
    with pytest.raises(MessageError) as refused:
        decode({}, values)
    assert named in str(refused.value)
    assert "nobody" not in str(refused.value)


@pytest.mark.parametrize("task", [None, "other.task", "", 5, ["notify.deliver"]])
def test_a_message_for_another_task_is_not_ours(task: Any) -> None:
    message = encode(Envelope(notification=make()), now=NOW)
    with pytest.raises(MessageError, match="not a notification"):
        decode_body(message.headers | {"task": task}, message.body)


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.builds(json.dumps, st.lists(st.text(), min_size=3, max_size=3)).map(str.encode)
)
def test_any_bytes_are_refused_in_one_way(body: bytes) -> None:
    with pytest.raises(MessageError):
        decode_body({"task": TASK}, body)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'[[],{"notification":{"v":1,"n":' + b"9" * 5000 + b"}},{}]",
        b'[[],{"notification":NaN},{}]',
        b'[[],{"notification":{"v":1,"id":"a","channel":"webhook","recipient":"https://a.b/",'
        b'"data":1e999}},{}]',
        b'[[],{"notification":{"v":1,"id":"a","channel":"sms","recipient":"+491701234567",'
        b'"body":"\\ud83d"}},{}]',
        b'{"a":1,"b":2,"c":3}',
        b'[[],["notification"],{}]',
    ],
    ids=["deep", "long number", "NaN", "infinity", "surrogate", "object", "list"],
)
def test_hostile_json_is_refused_in_the_same_way(body: bytes) -> None:
    with pytest.raises(MessageError):
        decode_body({"task": TASK}, body)
