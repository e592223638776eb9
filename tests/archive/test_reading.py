"""What is made of anything that can lie in the queue of the dead."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify import message
from notify.deadletter import CONTENT_TYPE, DeadLetter, encode, identity, read
from notify.outcomes import Reason
from tests.archive.letters import NOW, dead, raw, sms, work_message
from tests.archive.strangers import bodies, headers

LATER = NOW + timedelta(hours=1)
DIED = NOW + timedelta(minutes=1)


def death(reason: str, queue: str = "notify.sms.normal") -> dict[str, Any]:
    entry = {"queue": queue, "reason": reason, "count": 1, "exchange": "notify", "time": DIED}
    return {"x-death": [entry]}


WAITED = death("expired", "notify.delay.normal.5s")["x-death"]


def read_work(headers: dict[str, Any], **changes: Any) -> DeadLetter:
    sent = work_message(**changes)
    return read(
        body=sent.body,
        headers=sent.headers | headers,
        content_type="application/json",
        routing_key="sms.normal",
        now=LATER,
    )


def read_body(notification: Any, **headers: Any) -> DeadLetter:
    return read(
        body=json.dumps([[], {"notification": notification}, {}]).encode(),
        headers={"task": "notify.deliver"} | headers,
        content_type="application/json",
        routing_key="sms.urgent",
        now=LATER,
    )


def read_bytes(
    body: bytes, headers: dict[str, Any] | None = None, content_type: str | None = None
) -> DeadLetter:
    return read(
        body=body,
        headers=headers or {},
        content_type=content_type,
        routing_key="a.b",
        now=LATER,
    )


@pytest.mark.parametrize(
    ("headers", "reason", "detail"),
    [
        (death("rejected"), "internal_error", "rejected by a worker of notify.sms.normal"),
        (death("delivery_limit"), "delivery_limit", "handed back too many times"),
        (death("expired"), "expired", "waited too long in notify.sms.normal"),
        (death("maxlen"), "internal_error", "length limit of notify.sms.normal"),
        (death("new_in_5"), "internal_error", "dead-lettered as new_in_5 from"),
        ({}, "unroutable", "no queue for routing key sms.normal"),
        ({"x-death": WAITED}, "unroutable", "no queue for"),
        ({"x-death": WAITED, "x-first-death-queue": "notify.delay.normal.5s"}, "unroutable", ""),
        ({"x-death": WAITED + death("rejected")["x-death"]}, "internal_error", "rejected"),
        ({"x-death": death("delivery_limit")["x-death"] + WAITED}, "delivery_limit", ""),
        ({"x-death": "nonsense"}, "unroutable", ""),
        ({"x-death": [1, {"queue": 2, "reason": None}]}, "unroutable", ""),
        (
            {"x-last-death-queue": "notify.sms.normal", "x-last-death-reason": "delivery_limit"},
            "delivery_limit",
            "",
        ),
        (
            {"x-first-death-queue": "notify.sms.normal", "x-first-death-reason": "rejected"},
            "internal_error",
            "",
        ),
    ],
)
def test_the_reason_comes_from_the_death_in_a_work_queue(
    headers: dict[str, Any], reason: str, detail: str
) -> None:
    letter = read_work(headers)
    assert (letter.reason, letter.id, letter.raw) == (reason, "n-1", None)
    assert detail in letter.detail
    assert letter.notification == sms().to_dict()
    assert (letter.digest, letter.recipient) == (sms().digest, "+4915112345678")
    assert letter.first_queued == NOW


def test_the_time_of_death_is_the_brokers_where_it_can_be_believed() -> None:
    assert read_work(death("rejected")).dead_at == DIED
    assert read_work({}).dead_at == LATER
    mad = death("rejected")
    mad["x-death"][0]["time"] = datetime(9999, 1, 1, tzinfo=UTC)
    assert read_work(mad).dead_at == LATER


@pytest.mark.parametrize(
    ("broken", "detail"),
    [
        ({"recipient": "12"}, "recipient: must be a phone number"),
        ({"v": 2}, "v: must be 1"),
        ({"surprise": 1}, "surprise: is not a field"),
        ({"id": "no spaces"}, "id: must be"),
        ({"created_at": "yesterday"}, "created_at: must be"),
    ],
)
def test_a_rejected_message_that_does_not_parse_is_invalid_and_names_the_field(
    broken: dict[str, Any], detail: str
) -> None:
    notification = sms().to_dict() | broken
    letter = read_body(notification, **death("rejected"))
    assert letter.reason == "invalid"
    assert detail in letter.detail
    assert letter.notification == notification
    assert "4915112345678" not in letter.detail


def test_two_invalid_messages_of_one_id_are_two_letters() -> None:
    one, two = (read_body(sms(body=body).to_dict() | {"v": 2}) for body in ("a", "b"))
    assert identity(one) != identity(two)


def test_a_message_without_an_id_is_the_same_letter_at_every_reading() -> None:
    notification = {name: value for name, value in sms().to_dict().items() if name != "id"}
    one, two = (read_body(notification, **death("rejected")) for _ in range(2))
    assert identity(one) == identity(two)
    assert (one.reason, one.detail, one.id) == ("invalid", "id: is missing", None)
    assert one.raw is not None


def test_a_bad_attempt_header_is_invalid() -> None:
    letter = read_work({message.ATTEMPT: "many"} | death("rejected"))
    assert (letter.reason, letter.attempt) == ("invalid", 1)
    assert "notify-attempt" in letter.detail


def test_an_invalid_message_over_the_delivery_limit_says_both() -> None:
    letter = read_body(sms().to_dict() | {"v": 2}, **death("delivery_limit"))
    assert letter.reason == "delivery_limit"
    assert "v: must be 1" in letter.detail


DEEP = b"[" * 5000 + b"]" * 5000


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"", {}),
        (b"\xff\xfe\x00", {}),
        (b"{}", {"task": "someone.elses"}),
        (b"not json", {"task": "notify.deliver"}),
        (b"[]", {"task": "notify.deliver"}),
        (b"{}", {"task": "notify.deliver"}),
        (b"null", {"task": "notify.deliver"}),
        (b"[[], [], {}]", {"task": "notify.deliver"}),
        (b'[[], {"notification": 5}, {}]', {"task": "notify.deliver"}),
        (b'[[], {"notification": {"data": NaN}}, {}]', {"task": "notify.deliver"}),
        (b'[[], {"notification": {"data": ' + DEEP + b"}}, {}]", {"task": "notify.deliver"}),
        (b'[[], {"notification": {"data": ' + b"9" * 5000 + b"}}, {}]", {"task": "notify.deliver"}),
        (b"\x00" * 16_000_000, {}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_everything_else_is_kept_as_it_is(body: bytes, headers: dict[str, Any]) -> None:
    letter = read_bytes(body, headers)
    assert (letter.reason, letter.raw) == ("unparseable", body)
    assert letter.detail


def test_an_id_in_the_headers_of_something_unparseable_is_kept() -> None:
    letter = read_bytes(b"cut off", {message.ID: "n-9", message.GENERATION: 3})
    assert (letter.id, letter.generation, letter.raw) == ("n-9", 3, b"cut off")
    assert identity(letter) != identity(read_bytes(b"cut", {message.ID: "n-9"}))


@pytest.mark.parametrize(
    "letter", [dead(), dead(reason=Reason.CONFLICT), raw(), dead(trace="00-a")]
)
def test_our_own_letters_come_back_as_they_were(letter: DeadLetter) -> None:
    sent = encode(letter, now=NOW)
    received = read_bytes(sent.body, sent.headers, sent.properties["content_type"])
    assert received.evolve(headers={}) == letter.evolve(headers={})
    assert identity(received) == identity(letter)


def test_our_own_letter_says_in_headers_what_it_is() -> None:
    sent = encode(dead(), now=NOW)
    assert sent.routing_key == "sms.normal"
    assert sent.headers == {
        "notify-id": "n-1",
        "notify-generation": 1,
        "notify-attempt": 1,
        "notify-reason": "recipient_refused",
    }
    assert (sent.properties["delivery_mode"], sent.properties["message_id"]) == (2, "n-1")
    assert encode(raw(), now=NOW).routing_key == "unknown.unknown"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"v": 2}, "version 1"),
        ({"generation": 0}, "generation"),
        ({"attempt": True}, "attempt"),
        ({"reason": None}, "reason"),
        ({"id": "no spaces"}, "id"),
        ({"id": None}, "id"),
        ({"dead_at": "2026-01-01"}, "dead_at"),
        ({"attempts": ["x"]}, "attempts"),
        ({"labels": {"a": 1}}, "labels"),
        ({"raw": "not base 64!"}, "raw"),
        ({"notification": []}, "notification"),
    ],
)
def test_a_letter_of_ours_that_is_broken_is_kept_raw(change: dict[str, Any], field: str) -> None:
    body = json.dumps(json.loads(encode(dead(), now=NOW).body) | change).encode()
    letter = read_bytes(body, {}, CONTENT_TYPE)
    assert (letter.reason, letter.raw) == ("unparseable", body)
    assert field in letter.detail


def test_headers_of_every_amqp_type_become_json() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"d": deep}
    headers = {
        "bytes": b"\xff",
        "time": NOW,
        "decimal": Decimal("1.5"),
        "nan": float("nan"),
        "list": [1, None, True, {"a": b"x"}],
        "deep": deep,
        "big": 2**70,
        "object": object(),
        "half": "\ud800",
    }
    context = read_bytes(b"", headers).headers
    assert json.loads(json.dumps(context, allow_nan=False)) == context
    assert context["decimal"] == "1.5"
    assert context["bytes"] == {"base64": "/w=="}
    assert context["object"] == "<object>"


def test_large_headers_are_dropped_and_counted() -> None:
    context = read_bytes(b"", {"small": "kept", "large": "x" * 60_000}).headers
    assert context == {"small": "kept", "notify-dropped": 1}
    many = read_bytes(b"", {f"h{n}": "x" * 100 for n in range(1000)}).headers
    assert len(json.dumps(many)) <= 16_500


@settings(max_examples=400, deadline=None)
@given(
    body=bodies,
    headers=headers,
    work=st.booleans(),
    content_type=st.none() | st.just(CONTENT_TYPE) | st.text(),
    routing_key=st.text(),
)
def test_any_message_yields_a_letter_and_always_the_same(
    body: bytes, headers: dict[str, Any], work: bool, content_type: str | None, routing_key: str
) -> None:
    def reading(now: datetime) -> DeadLetter:
        return read(
            body=body,
            headers=headers | ({"task": "notify.deliver"} if work else {}),
            content_type=content_type,
            routing_key=routing_key,
            now=now,
        )

    one, two = reading(NOW), reading(LATER)
    assert identity(one) == identity(two)
    assert one.raw is not None or one.notification is not None or content_type == CONTENT_TYPE
    assert one.id is not None or one.raw is not None
    json.dumps([one.notification, one.attempts, one.labels])
    assert len(json.dumps(one.headers, allow_nan=False)) <= 16_500
