"""The notification: what is refused and how, its JSON form, and its digest."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.errors import InvalidNotification
from notify.notification import CHANNELS, Notification, new_id
from tests.unit.values import ADDRESS, BODY, CREATED, PHONE, URL, make, notifications

NAIVE = datetime(2027, 3, 1, 9, 0)  # noqa: DTZ001

BAD_RECIPIENTS = {
    "sms": [
        "",
        "0170123456",
        "+0170123456",
        "+49170",
        "+4917012345678901",
        "+49 170 1234567",
        "+49170123456x",
        "+٤٩١٧٠١٢٣٤٥٦٧",
        "+491701234567\n",
        ADDRESS,
    ],
    "email": [
        "",
        "ada",
        "@example.com",
        "ada@",
        "a@b@c.com",
        "ada lovelace@example.com",
        "ada..l@example.com",
        ".ada@example.com",
        "ada.@example.com",
        "ada@.example.com",
        "ada@example.com.",
        "ada@example-",
        "<ada@example.com>",
        '"ada"@example.com',
        "ada@example.com,bob@example.com",
        "ada@example.com\r\nBcc: bob@example.com",
        "a" * 65 + "@example.com",
        "ada@" + "e" * 252 + ".com",
    ],
    "webhook": [
        "",
        "example.com/hook",
        "ftp://example.com",
        "https://",
        "https:///hook",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user:secret@example.com/hook",
        "https://example.com/hook#part",
        "https://example.com/a hook",
        "https://example.com:99999/",
        "https://example.com:0/",
        "https://example.com:port/",
        "https://[::1/",
        "https://example.com/\r\nX: y",
        "https://example.com/" + "a" * 2048,
    ],
}
BAD_TEXTS: list[Any] = [5, b"bytes", ["list"], "NUL \x00", "half a \ud83d pair"]
BAD_LINES = ["two\nlines", "Bcc:\r\nx", "tab\t", "\x1b[31m", "\x85", "line\u2028separator"]
BAD_IDS: list[Any] = [
    "",
    "a.b",
    "a b",
    "-a",
    "_a",
    "a\n",
    "\x00",
    "ä",
    "a/b",
    "a" * 129,
    7,
    None,
    b"a",
]
BAD_DATA: list[Any] = [
    math.nan,
    {"deep": [math.inf]},
    ...,
    {"set": {1}},
    b"bytes",
    {1: "one"},
    {"list": [{None: 1}]},
    "half a \ud83d pair",
    {"\ud83d": 1},
    CREATED,
]
BAD_LABELS: list[Any] = [
    None,
    ["a"],
    "a=b",
    {f"n{n}": "x" for n in range(21)},
    {"": "x"},
    {"a b": "x"},
    {"-a": "x"},
    {"a" * 65: "x"},
    {1: "x"},
    {"a": 1},
    {"a": "x" * 257},
    {"a": "two\nlines"},
    {"a": "\x00"},
    {"a": "half a \ud83d pair"},
]


def _cases() -> list[tuple[str, str, Any]]:
    """(channel, field, bad value)."""
    cases: list[tuple[str, str, Any]] = [
        (channel, "recipient", value) for channel in CHANNELS for value in BAD_RECIPIENTS[channel]
    ]
    cases += [("sms", "recipient", value) for value in (None, *BAD_TEXTS)]
    cases += [("sms", "channel", value) for value in ("fax", "SMS", "", None, 5, ["sms"])]
    cases += [("sms", "priority", value) for value in ("high", "URGENT", "", None, 5, ["urgent"])]
    cases += [("sms", "id", value) for value in BAD_IDS]
    cases += [("email", name, v) for name in ("subject", "body", "html") for v in BAD_TEXTS]
    cases += [("email", name, v) for name in ("subject", "template") for v in BAD_LINES]
    cases += [("email", "template_version", value) for value in (5, "a\nb")]
    cases += [("webhook", "data", value) for value in BAD_DATA]
    cases += [("sms", "labels", value) for value in BAD_LABELS]
    cases += [("sms", name, v) for name in ("expires_at", "created_at") for v in (NAIVE, "x", 5)]
    cases += [("sms", "created_at", None)]
    return cases


@pytest.mark.parametrize(("channel", "field", "value"), _cases(), ids=lambda v: ascii(v)[:40])
def test_a_bad_value_is_refused_by_the_name_of_its_field(
    channel: str, field: str, value: Any
) -> None:
    with pytest.raises(InvalidNotification) as refused:
        make(channel, **{field: value})
    assert refused.value.field == field
    assert refused.value.problem


@pytest.mark.parametrize(
    ("channel", "changes", "field"),
    [
        ("sms", {"subject": "x"}, "subject"),
        ("sms", {"html": "x"}, "html"),
        ("sms", {"data": 1}, "data"),
        ("sms", {"body": ""}, "body"),
        ("sms", {"body": None}, "body"),
        ("email", {"data": 1}, "data"),
        ("email", {"subject": None}, "subject"),
        ("email", {"subject": ""}, "subject"),
        ("email", {"body": None}, "body"),
        ("webhook", {"html": "x"}, "html"),
        ("webhook", {"data": None}, "data"),
    ],
)
def test_each_channel_has_its_own_content(
    channel: str, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidNotification) as refused:
        make(channel, **changes)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "recipient", ["http://127.0.0.1:8025/hook/a?b=c", "https://[::1]/", "https://例え.jp/フック"]
)
def test_usable_urls(recipient: str) -> None:
    assert make("webhook", recipient=recipient).recipient == recipient


@pytest.mark.parametrize("field", ["recipient", "subject", "body", "html"])
@given(text=st.text(min_size=12))
def test_an_error_never_quotes_what_was_given(field: str, text: str) -> None:
    """Errors are logged and shown to others; a recipient or a text must not be in them."""
    value = f"{text}\x00{text}"
    for channel in CHANNELS:
        with pytest.raises(InvalidNotification) as refused:
            make(channel, **{field: value})
        assert text not in str(refused.value)
        assert refused.value.__cause__ is None


@given(notifications())
def test_the_json_form_reads_back_as_the_same_value(notification: Notification) -> None:
    text = json.dumps(notification.to_dict())
    again = Notification.from_dict(json.loads(text))
    assert again == notification
    assert again.digest == notification.digest
    assert again.to_dict() == notification.to_dict()


@given(notifications())
def test_the_size_is_never_more_than_the_bound_for_it(notification: Notification) -> None:
    assert notification.size <= notification.size_at_most


@pytest.mark.parametrize("character", ["\x01", "\x7f", '"', "\\", "x", "ä", "您", "👋"])
@pytest.mark.parametrize("length", [1, 1000])
def test_no_character_exceeds_the_bound(character: str, length: int) -> None:
    text, line = character * length, character.replace("\x01", "x").replace("\x7f", "x") * length
    latest = datetime.max.replace(tzinfo=timezone(timedelta(hours=23, seconds=59, microseconds=1)))
    beside: dict[str, Any] = {
        "id": "i" * 128,
        "priority": "urgent",
        "template": line,
        "template_version": line,
        "created_at": latest,
        "expires_at": latest,
        "labels": {f"{n}" * 32: line[:256] for n in range(20)},
    }
    mail = make("email", subject=line, body=text, html=text, unsubscribe=URL, **beside)
    hook = make("webhook", subject=line, body=text, data=[text] * 3, **beside)
    for full in (mail, hook):
        assert full.size <= full.size_at_most


def test_the_digest_of_a_copy_is_its_own() -> None:
    notification = make()
    assert notification.digest == notification.digest
    changed = notification.evolve(body=BODY + ".")
    assert changed.digest != notification.digest
    assert changed.evolve(body=BODY).digest == notification.digest
    assert pickle.loads(pickle.dumps(notification)) == notification
    # It is not a field of the value.
    assert notification == make(id=notification.id, created_at=notification.created_at)
    assert "digest" not in repr(notification)


@pytest.mark.parametrize("data", [{}, [], "", 0, False, {"nested": {}}])
def test_empty_data_is_data(data: Any) -> None:
    notification = make("webhook", data=data)
    assert Notification.from_dict(notification.to_dict()).data == data


def test_the_json_form_is_exactly_this() -> None:
    expires = CREATED + timedelta(hours=1)
    notification = make(id="order-7", labels={"order": "7"}, created_at=CREATED, expires_at=expires)
    assert notification.to_dict() == {
        "v": 1,
        "channel": "sms",
        "recipient": PHONE,
        "id": "order-7",
        "priority": "normal",
        "body": BODY,
        "expires_at": "2027-03-01T10:00:00+00:00",
        "labels": {"order": "7"},
        "created_at": "2027-03-01T09:00:00+00:00",
    }


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (None, "notification"),
        ([], "notification"),
        ("text", "notification"),
        ({}, "v"),
        ({"v": 2}, "v"),
        ({"v": "1"}, "v"),
        ({"v": 1}, "channel"),
        ({"v": 1, "channel": "sms"}, "recipient"),
        ({"v": 1, "channel": "sms", "recipient": PHONE, "body": "x", "colour": "red"}, "colour"),
        ({"v": 1, "channel": "sms", "recipient": PHONE, "body": "x", 5: "red"}, "notification"),
        # A name may be somebody's.
        (
            {"v": 1, "channel": "sms", "recipient": PHONE, "ada@example.com": 1},
            "notification",
        ),
        (
            {"v": 1, "channel": "sms", "recipient": PHONE, "body": "x", "expires_at": 5},
            "expires_at",
        ),
        (
            {"v": 1, "channel": "sms", "recipient": PHONE, "body": "x", "created_at": "2027-03-01"},
            "created_at",
        ),
    ],
)
def test_json_that_is_no_notification(values: Any, field: str) -> None:
    with pytest.raises(InvalidNotification) as refused:
        Notification.from_dict(values)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("channel", "changes", "same"),
    [
        ("sms", {"recipient": "+491701234568"}, False),
        ("sms", {"body": BODY + "."}, False),
        ("email", {"subject": "Other"}, False),
        ("email", {"html": "<p>"}, False),
        ("webhook", {"data": {"code": 1}}, False),
        ("sms", {"id": "other"}, True),
        ("sms", {"priority": "urgent"}, True),
        ("sms", {"labels": {"a": "b"}}, True),
        ("sms", {"expires_at": CREATED}, True),
        ("sms", {"created_at": CREATED}, True),
        ("sms", {"template": "t", "template_version": "2"}, True),
    ],
)
def test_the_digest_covers_what_the_recipient_gets_and_nothing_else(
    channel: str, changes: dict[str, Any], same: bool
) -> None:
    assert (make(channel).digest == make(channel, **changes).digest) is same
    assert len(make(channel).digest) == 32


def test_the_digest_covers_the_channel_and_not_the_order_of_names() -> None:
    one = Notification(channel="webhook", recipient=URL, data={"a": 1, "b": 2})
    other = Notification(channel="webhook", recipient=URL, data={"b": 2, "a": 1})
    assert one.digest == other.digest
    assert make("webhook", body=BODY, data=None).digest != make("sms", body=BODY).digest


def test_a_notification_does_not_change() -> None:
    notification = make()
    with pytest.raises(FrozenInstanceError):
        notification.body = "other"  # type: ignore[misc]
    with pytest.raises(InvalidNotification):
        notification.evolve(recipient="nonsense")


def test_expiry_is_exclusive_of_its_instant() -> None:
    notification = make(expires_at=CREATED)
    assert not notification.expired(CREATED - timedelta(microseconds=1))
    assert notification.expired(CREATED)
    assert not make().expired(CREATED)


def test_new_ids_are_usable_and_differ() -> None:
    ids = {new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(make(id=id).id == id for id in ids)
