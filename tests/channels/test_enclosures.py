"""Files go with an email as they are, under any name, and only if they did not change."""

import hashlib
from base64 import b64decode
from email import message_from_bytes
from email.message import Message
from email.policy import compat32
from pathlib import Path
from typing import Any

import pytest

from notify.attachments import Attachment
from notify.channels import Provider, build_provider
from notify.channels.composing import preview
from notify.channels.excerpts import excerpt, private_to
from notify.config import AttachmentSettings
from notify.errors import InvalidNotification
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure
from notify.sandbox import Sandbox

from .test_letters import NOW
from .values import TEXTS, failure, kind, mail, mail_settings

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


@pytest.fixture
def provider(sandbox: Sandbox, folder: Path) -> Provider:
    settings = AttachmentSettings(folders={"files": folder}, max_bytes=100_000)
    return build_provider(mail_settings(sandbox.smtp_port), settings)


def put(folder: Path, file: str, content: bytes, kind: str = "application/pdf") -> Attachment:
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return Attachment(
        folder="files",
        file=file,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        type=kind,
    )


def shown(folder: Path, file: str, content: bytes) -> Attachment:
    about = put(folder, file, content, "image/png").to_dict()
    return Attachment(**about, inline=True)


def arrived(sandbox: Sandbox) -> "Message[str, str]":
    (item,) = sandbox.received()
    return message_from_bytes(b64decode(item.raw or ""), policy=compat32)


def shape(part: Any) -> Any:
    """The types of the parts, as a tree."""
    name = part.get_content_type()
    return (name, *map(shape, part.get_payload())) if part.is_multipart() else name


def leaves(message: "Message[str, str]") -> list["Message[str, str]"]:
    return [part for part in message.walk() if not part.is_multipart()]


CONTENTS = [b"", b"\n", b"a\r\nb\rc\nd", b".\r\n..\r\n", bytes(range(256)) * 300, "文\n".encode()]


@pytest.mark.parametrize("content", CONTENTS, ids=len)
@pytest.mark.parametrize("media", ["application/pdf", "text/plain", "image/png"])
def test_bytes_arrive_as_they_are(
    provider: Provider, sandbox: Sandbox, folder: Path, content: bytes, media: str
) -> None:
    file = put(folder, "a.bin", content, media)
    provider.send(mail(attachments=(file,)), deadline=5)
    message = arrived(sandbox)
    assert shape(message) == ("multipart/mixed", "text/plain", media)
    assert leaves(message)[1].get_payload(decode=True) == content


NAMES = [
    "invoice.pdf",
    "my invoice (1).pdf",
    "Rechnung №7 “März”.pdf",
    "发票-2027年3月.pdf",
    "فاتورة.pdf",
    "🎉👩🏽‍💻.pdf",
    'say "hi" \\ there.pdf',
    "a;b=c, d%20e'f.pdf",
    "=?utf-8?q?=0A?= Bcc: x@example.com.pdf",
    "=?utf-8?b?DQpCY2M6IHg=?=.pdf",
    "x" * 196 + ".pdf",
    "订" * 60 + ".pdf",
    "e\u0301.pdf",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_arrives_as_it_is(
    provider: Provider, sandbox: Sandbox, folder: Path, name: str
) -> None:
    file = put(folder, name, b"content")
    provider.send(mail(attachments=(file,)), deadline=5)
    message = arrived(sandbox)
    assert "Bcc" not in message
    (part,) = leaves(message)[1:]
    assert part.keys() == ["Content-Type", "Content-Transfer-Encoding", "Content-Disposition"]
    assert part.get_filename() == name
    assert part.get_content_disposition() == "attachment"
    raw = b64decode(sandbox.received()[0].raw or "")
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 78


@pytest.mark.parametrize("name", ["a\r\nBcc: x", "a\nb", "a\r", "a\x00", "\x1b"])
def test_names_with_line_breaks_do_not_get_this_far(name: str) -> None:
    values: dict[str, Any] = {"sha256": "0" * 64, "size": 1, "type": "a/b"}
    with pytest.raises(InvalidNotification):
        Attachment(folder="files", file=name, **values)


def test_images_stand_with_the_html_that_shows_them(
    provider: Provider, sandbox: Sandbox, folder: Path
) -> None:
    files = (shown(folder, "img/logo.png", PIXEL), put(folder, "a.pdf", b"%PDF"))
    html = '<img src="cid:img/logo.png">'
    provider.send(mail(html=html, attachments=files), deadline=5)
    message = arrived(sandbox)
    related = ("multipart/related", "text/html", "image/png")
    texts = ("multipart/alternative", "text/plain", related)
    assert shape(message) == ("multipart/mixed", texts, "application/pdf")
    image = leaves(message)[2]
    assert image["Content-ID"] == "<img/logo.png>"
    assert image.get_content_disposition() == "inline"
    assert image.get_payload(decode=True) == PIXEL
    boundaries = [part.get_boundary() for part in message.walk() if part.is_multipart()]
    assert len(set(boundaries)) == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"body": "a"}, "text/plain"),
        ({"body": None, "html": "a"}, "text/html"),
        ({"html": "a"}, ("multipart/alternative", "text/plain", "text/html")),
    ],
)
def test_a_mail_has_no_more_parts_than_it_needs(changes: Any, expected: Any) -> None:
    content = preview(mail(**changes), mail_settings(25), NOW)
    assert shape(message_from_bytes(content)) == expected


def test_html_alone_with_an_image(provider: Provider, sandbox: Sandbox, folder: Path) -> None:
    file = shown(folder, "a.png", PIXEL)
    provider.send(mail(body=None, html="<p>", attachments=(file,)), deadline=5)
    assert shape(arrived(sandbox)) == ("multipart/related", "text/html", "image/png")


@pytest.mark.parametrize("text", TEXTS)
def test_texts_and_files_together(
    provider: Provider, sandbox: Sandbox, folder: Path, text: str
) -> None:
    file = put(folder, f"{text}.pdf", text.encode())
    html = f"<p>{text}</p>\n<!-- {text * 500} -->"
    provider.send(mail(subject=text, body=text, html=html, attachments=(file,)), deadline=5)
    plain, marked, attached = leaves(arrived(sandbox))
    assert sandbox.received()[0].subject == text
    assert plain.get_payload(decode=True) == f"{text}\r\n".encode()
    assert marked.get_payload(decode=True) == html.replace("\n", "\r\n").encode() + b"\r\n"
    assert attached.get_payload(decode=True) == text.encode()
    assert attached.get_filename() == f"{text}.pdf"


def test_a_text_cannot_end_its_part(provider: Provider, sandbox: Sandbox) -> None:
    first = preview(mail(id="a", html="<p>"), mail_settings(25), NOW)
    boundary = str(message_from_bytes(first).get_boundary())
    body = f"--{boundary}--\n\n--{boundary}\nContent-Type: text/html\n\n<b>x</b>\n"
    provider.send(mail(id="a", body=body, html="<p>"), deadline=5)
    plain, marked = leaves(arrived(sandbox))
    assert plain.get_payload(decode=True) == body.replace("\n", "\r\n").encode()
    assert marked.get_payload(decode=True) == b"<p>\r\n"


def _change(place: Path) -> None:
    place.write_bytes(b"Content")


def _append(place: Path) -> None:
    place.write_bytes(b"content\n")


def _to_link(place: Path) -> None:
    place.rename(place.with_name("other"))
    place.symlink_to("other")


def _to_folder(place: Path) -> None:
    place.unlink()
    place.mkdir()


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (_change, "attachment 1: changed since it was published"),
        (_append, "attachment 1: changed since it was published"),
        (Path.unlink, "attachment 1: missing"),
        (_to_link, "attachment 1: not a regular file"),
        (_to_folder, "attachment 1: not a regular file"),
    ],
)
def test_a_file_that_changed_is_not_sent(
    provider: Provider, sandbox: Sandbox, folder: Path, change: Any, detail: str
) -> None:
    file = put(folder, "Ada Lovelace.pdf", b"content")
    change(folder / file.file)
    error = failure(provider, mail(attachments=(file,)))
    assert kind(error) == (PermanentFailure, Reason.INVALID)
    assert error.detail == detail
    assert error.__cause__ is None
    assert sandbox.received() == []


def test_more_than_may_be_sent(provider: Provider, folder: Path) -> None:
    files = (put(folder, "a", b"x" * 50_000), put(folder, "b", b"x" * 50_001))
    error = failure(provider, mail(attachments=files))
    assert kind(error) == (PermanentFailure, Reason.INVALID)
    assert error.detail == "attachments: more than 100000 bytes together"


def test_a_folder_that_is_not_declared_here(sandbox: Sandbox, folder: Path) -> None:
    file = put(folder, "a.pdf", b"content")
    error = failure(build_provider(mail_settings(sandbox.smtp_port)), mail(attachments=(file,)))
    assert kind(error) == (PermanentFailure, Reason.INVALID)
    assert error.detail == "attachment 1: its folder is not declared here"


def test_a_folder_that_is_away_for_a_while(provider: Provider, folder: Path) -> None:
    file = put(folder, "a.pdf", b"content")
    folder.rename(folder.with_name("away"))
    error = failure(provider, mail(attachments=(file,)))
    assert kind(error) == (TemporaryFailure, Reason.INTERNAL_ERROR)
    assert not error.at_provider
    folder.with_name("away").rename(folder)
    assert provider.send(mail(attachments=(file,)), deadline=5).code == "250"


def test_an_answer_that_quotes_a_name_or_a_link_is_kept_without_them(folder: Path) -> None:
    file = put(folder, "Ada Lovelace.pdf", b"content")
    link = "https://example.com/u?token=31415926"
    notification = mail(attachments=(file,), unsubscribe=link)
    kept = excerpt(f"550 <{file.name}> see {link} no".encode(), private_to(notification))
    assert kept == "550 <***> see *** no"
