"""Attachments: what is refused, their JSON form, and how they count in a digest."""

import json
from typing import Any

import pytest

from notify.attachments import MAX_ATTACHMENTS, Attachment
from notify.errors import InvalidNotification
from notify.notification import Notification

from .values import CREATED, VALID, make

GOOD: dict[str, Any] = {
    "folder": "invoices",
    "file": "2027/03/Rechnung №7 “März”.pdf",
    "sha256": "0a" * 32,
    "size": 7,
    "type": "application/pdf",
}
IMAGE = {**GOOD, "file": "img/logo.png", "type": "image/png", "inline": True}
BAD: list[tuple[str, Any]] = [
    ("folder", ""),
    ("folder", "In voices"),
    ("folder", "../invoices"),
    ("folder", None),
    ("file", ""),
    ("file", None),
    ("file", 5),
    ("file", "/etc/passwd"),
    ("file", "../secret"),
    ("file", "a/../../secret"),
    ("file", "a//b"),
    ("file", "a/"),
    ("file", "./a"),
    ("file", ".hidden"),
    ("file", "a/.git/config"),
    ("file", "a\x00.pdf"),
    ("file", "a\r\nBcc: x@example.com"),
    ("file", "a\nb"),
    ("file", "a\x85b"),
    ("file", "a\u2028b"),
    ("file", "invoice\u202efdp.exe"),
    ("file", "half \ud83d pair"),
    ("file", " a.pdf"),
    ("file", "a.pdf "),
    ("file", "a" * 201),
    ("file", "a/" * 256 + "a"),
    ("sha256", "0A" * 32),
    ("sha256", "0a" * 31),
    ("sha256", None),
    ("size", -1),
    ("size", True),
    ("size", 1.5),
    ("size", "7"),
    ("type", "pdf"),
    ("type", "Application/PDF"),
    ("type", "text/html; charset=utf-8"),
    ("type", "message/rfc822"),
    ("type", "multipart/mixed"),
    ("type", "a/b\r\nX: y"),
    ("inline", 1),
    ("inline", True),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda v: ascii(v)[:30])
def test_a_bad_value_is_refused_without_being_shown(name: str, value: Any) -> None:
    with pytest.raises(InvalidNotification) as refused:
        Attachment(**GOOD | {name: value})
    assert refused.value.field == "attachments"
    assert refused.value.__cause__ is None
    assert len(str(value)) < 6 or str(value) not in str(refused.value)


@pytest.mark.parametrize("file", ["my logo.png", "größe.png", "a?b.png", "<a>.png"])
def test_an_inline_image_needs_a_name_that_fits_into_a_url(file: str) -> None:
    with pytest.raises(InvalidNotification, match="inline is for images"):
        Attachment(**{**IMAGE, "file": file})


def test_the_recipient_sees_the_last_part_of_the_path() -> None:
    assert Attachment(**GOOD).name == "Rechnung №7 “März”.pdf"


def test_the_json_form_is_exactly_this() -> None:
    assert Attachment(**GOOD).to_dict() == GOOD
    assert Attachment(**IMAGE).to_dict() == IMAGE
    for values in (GOOD, IMAGE):
        assert Attachment.from_dict(json.loads(json.dumps(values))).to_dict() == values


def mail(*attachments: Attachment, **changes: Any) -> Notification:
    return make("email", html="<p>", attachments=attachments, **changes)


@pytest.mark.parametrize(
    "values",
    [
        None,
        5,
        {},
        "text",
        ["text"],
        [None],
        [{}],
        [{**GOOD, "colour": "red"}],
        [{name: GOOD[name] for name in GOOD if name != "sha256"}],
        [{**GOOD, "file": "../x"}],
        [{**GOOD, 5: 1}],
    ],
)
def test_json_that_is_no_attachment(values: Any) -> None:
    form = mail().to_dict() | {"attachments": values}
    with pytest.raises(InvalidNotification) as refused:
        Notification.from_dict(form)
    assert refused.value.field == "attachments"


def test_a_notification_with_attachments_reads_back_as_the_same_value() -> None:
    notification = mail(Attachment(**GOOD), Attachment(**IMAGE), unsubscribe="https://e.com/u?a=1")
    form = json.loads(json.dumps(notification.to_dict()))
    assert form["attachments"] == [GOOD, IMAGE]
    again = Notification.from_dict(form)
    assert again == notification
    assert again.digest == notification.digest
    assert again.evolve(id="other").attachments == notification.attachments


def test_without_any_the_json_form_is_that_of_earlier_releases() -> None:
    notification = make("email", id="a", created_at=CREATED)
    assert notification.to_dict().keys() == {
        "v", "channel", "recipient", "id", "priority", "subject", "body", "created_at"
    }  # fmt: skip


def test_the_digest_covers_each_file_and_where_to_unsubscribe() -> None:
    plain, other = Attachment(**GOOD), Attachment(**GOOD | {"sha256": "1b" * 32})
    shown = Attachment(**IMAGE)
    digests = [
        mail().digest,
        mail(plain).digest,
        mail(other).digest,
        mail(plain, shown).digest,
        mail(shown, plain).digest,
        mail(unsubscribe="https://example.com/a").digest,
        mail(unsubscribe="https://example.com/b").digest,
        mail(plain, unsubscribe="https://example.com/b").digest,
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("channel", "changes"),
    [
        ("sms", {"attachments": (Attachment(**GOOD),)}),
        ("webhook", {"attachments": (Attachment(**GOOD),)}),
        ("email", {"attachments": [Attachment(**GOOD)]}),
        ("email", {"attachments": (GOOD,)}),
        ("email", {"attachments": None}),
        ("email", {"attachments": (Attachment(**GOOD),) * (MAX_ATTACHMENTS + 1)}),
        ("email", {"attachments": (Attachment(**IMAGE),)}),
        ("email", {"attachments": (Attachment(**IMAGE),) * 2, "html": "<p>"}),
    ],
)
def test_notifications_that_cannot_have_them(channel: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidNotification) as refused:
        make(channel, **changes)
    assert refused.value.field == "attachments"


@pytest.mark.parametrize(
    "url",
    [
        "",
        5,
        b"https://example.com",
        "http://example.com/u",
        "mailto:out@example.com",
        "https://",
        "https://user:secret@example.com/u",
        "https://example.com/u#part",
        "https://example.com/a b",
        "https://example.com/>,<mailto:x@example.com",
        "https://example.com/\r\nBcc: x@example.com",
        "https://example.com/ü",
        "https://example.com/=?utf-8?q?=0A?=",
        "https://example.com/" + "a" * 900,
    ],
)
def test_where_nobody_can_unsubscribe(url: Any) -> None:
    with pytest.raises(InvalidNotification) as refused:
        make("email", unsubscribe=url)
    assert refused.value.field == "unsubscribe"


@pytest.mark.parametrize("channel", ["sms", "webhook"])
def test_only_emails_are_unsubscribed_from(channel: str) -> None:
    with pytest.raises(InvalidNotification, match="unsubscribe: is not used by channel"):
        make(channel, unsubscribe="https://example.com/u")


def test_the_digest_of_each_channel_is_that_of_earlier_releases() -> None:
    assert {name: make(name).digest for name in VALID} == {
        "sms": "7465d25b2204f3cb6b950677f953b95f",
        "email": "3b39b2b2adfa0ec3ed0bb68df6d9717f",
        "webhook": "ac7f9c24e7f93ba0b180b929c02f683d",
    }
