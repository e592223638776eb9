"""Mails are put together as the email package would have put them together."""

import hashlib
from collections.abc import Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP, compat32
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify.attachments import Attachment
from notify.channels.letters import Sender, write_letter
from notify.channels.parts import Enclosure
from notify.notification import Notification

from .test_letters import NOW, SENDER
from .values import TEXTS, mail

# The email package takes more characters for the ends of lines than mail has, and its policies
# leave no other out.
SIGNS = st.characters(
    exclude_categories=["Cs"],
    exclude_characters="\0\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",
)
TEXT = st.lists(
    st.sampled_from(["a", "\n", " ", ".", "\n.", "From ", "=", "--", "é", "文", "x" * 70])
    | st.text(SIGNS, max_size=5),
    max_size=30,
).map("".join)
VERBATIM: Any = compat32.clone(linesep="\r\n", max_line_length=0, mangle_from_=False)
PLACES = st.lists(st.sampled_from(["file", "image"]), max_size=3)


def enclose(number: int, place: str) -> Enclosure:
    content = bytes(range(number * 7)) * 9
    about = Attachment(
        folder="files",
        file=f"{number}.png",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        type="image/png",
        inline=place == "image",
    )
    return Enclosure(about=about, content=content)


def composed(notification: Notification, enclosures: Sequence[Enclosure]) -> EmailMessage:
    """The same by the email package."""
    made = EmailMessage(policy=SMTP)
    images = [each for each in enclosures if each.about.inline]
    if notification.body:
        made.set_content(notification.body, cte="base64")
    if notification.html:
        add = made.add_alternative if notification.body else made.set_content
        add(notification.html, subtype="html", cte="base64")
    place: Any = made.get_body(("html",)) if images else None
    for image in images:
        place.add_related(
            image.content, "image", "png", filename=image.about.name, disposition="inline"
        )
    for file in enclosures:
        if not file.about.inline:
            made.add_attachment(file.content, "image", "png", filename=file.about.name)
    return message_from_bytes(made.as_bytes(), policy=SMTP)


def shape(part: Any) -> Any:
    """What a reader finds: a tree of types, and the decoded content in the leaves."""
    name = part.get_content_type()
    if part.is_multipart():
        return (name, *map(shape, part.get_payload()))
    content = part.get_payload(decode=True)
    if part.get_content_maintype() == "text":
        content = content.replace(b"\r\n", b"\n").removesuffix(b"\n")
    return name, part.get_content_disposition(), part.get_filename(), content


def check(notification: Notification, enclosures: Sequence[Enclosure], eight_bit: bool) -> None:
    letter = write_letter(notification, SENDER, NOW, enclosures, eight_bit=eight_bit)
    content = letter.content
    assert content.endswith(b"\r\n")
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert b"\r" not in content.replace(b"\r\n", b"")
    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert content.isascii() or eight_bit
    assert message_from_bytes(content, policy=VERBATIM).as_bytes() == content
    message = message_from_bytes(content, policy=SMTP)
    assert not any(part.defects for part in message.walk())
    assert shape(message) == shape(composed(notification, enclosures))


@settings(deadline=None)
@given(body=TEXT, html=TEXT, places=PLACES, eight_bit=st.booleans())
def test_any_content(body: str, html: str, places: list[str], eight_bit: bool) -> None:
    if not (body.strip() or html.strip()):
        body = "x"
    if not html:
        places = [each for each in places if each == "file"]
    enclosures = [enclose(number, place) for number, place in enumerate(places)]
    notification = mail(
        body=body or None, html=html or None, attachments=tuple(each.about for each in enclosures)
    )
    check(notification, enclosures, eight_bit)


@pytest.mark.parametrize("eight_bit", [False, True])
@pytest.mark.parametrize("places", [[], ["file"], ["image"], ["image", "file", "image", "file"]])
@pytest.mark.parametrize("text", [*TEXTS, "x", "\n", "a\n\nb\n", "é" * 600, "x" * 77, "\x01\x7f"])
def test_these_contents(text: str, places: list[str], eight_bit: bool) -> None:
    enclosures = [enclose(number, place) for number, place in enumerate(places)]
    about = tuple(each.about for each in enclosures)
    check(mail(body=text, html=f"<p>{text}</p>", attachments=about), enclosures, eight_bit)
    check(mail(body=None, html=f"<p>{text}</p>", attachments=about), enclosures, eight_bit)


def test_what_is_remembered_of_one_sender_is_not_used_for_another() -> None:
    senders = [
        Sender(address=f"{name}@example.org", name=shown, reply_to=reply_to)
        for name in ("a", "b")
        for shown in ("", "Ada", "– Ada –")
        for reply_to in ("", "c@example.org")
    ]
    for sender in [*senders, *senders]:
        content = write_letter(mail(), sender, NOW).content
        message: Any = message_from_bytes(content, policy=SMTP)
        assert message["From"].addresses[0].addr_spec == sender.address
        assert message["From"].addresses[0].display_name == sender.name
        assert (message["Reply-To"] or "") == sender.reply_to
        assert content.index(b"\r\nTo: ") < content.index(b"\r\nSubject: ")
