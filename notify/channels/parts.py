"""The content of a mail: texts, images they show, and files, as a tree of MIME parts. Pure."""

import re
from base64 import encodebytes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from notify.attachments import Attachment
from notify.channels.headers import LONGEST_LINE, Header, exact, head, with_parameter
from notify.notification import Notification

_LONGEST_SHORT: Final = 76
_NOT_PLAIN: Final = re.compile(r"[^\t\n -~]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_VERSION: Final = Header("MIME-Version", "1.0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Enclosure:
    """An attachment with its content."""

    about: Attachment
    content: bytes


def build_parts(
    headers: Sequence[Header],
    notification: Notification,
    enclosures: Sequence[Enclosure],
    *,
    eight_bit: bool,
) -> bytes:
    """The whole mail: ``headers``, and the content in the fewest parts that it needs.

    ``eight_bit`` leaves texts unencoded where the lines allow it.
    """
    content = _Content(notification, eight_bit=eight_bit)
    if not enclosures:
        return content.texts((*headers, _VERSION), ())
    files = [each for each in enclosures if not each.about.inline]
    images = [each for each in enclosures if each.about.inline]
    if not files:
        return content.texts((*headers, _VERSION), images)
    parts = [content.texts((), images), *map(_file, files)]
    return content.multipart((*headers, _VERSION), "mixed", parts)


class _Content:
    def __init__(self, notification: Notification, *, eight_bit: bool) -> None:
        self._notification = notification
        self._eight_bit = eight_bit
        self._multiparts = 0

    def texts(self, headers: Sequence[Header], images: Sequence[Enclosure]) -> bytes:
        body, html = self._notification.body, self._notification.html
        if not html:
            return self._text(headers, body or "", "plain")
        if not body:
            return self._html(headers, html, images)
        both = [self._text((), body, "plain"), self._html((), html, images)]
        return self.multipart(headers, "alternative", both)

    def _html(self, headers: Sequence[Header], html: str, images: Sequence[Enclosure]) -> bytes:
        if not images:
            return self._text(headers, html, "html")
        parts = [self._text((), html, "html"), *map(_image, images)]
        return self.multipart(headers, "related", parts)

    def _text(self, headers: Sequence[Header], text: str, kind: str) -> bytes:
        text = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
        encoding = _encoding(text, eight_bit=self._eight_bit)
        content = (text.replace("\n", "\r\n") + "\r\n").encode()
        if encoding == "base64":
            content = _base64(content)
        return _entity((*headers, *_about_text(kind, encoding)), content)

    def multipart(self, headers: Sequence[Header], kind: str, parts: Sequence[bytes]) -> bytes:
        """A text cannot contain the boundary, which is made of its digest."""
        self._multiparts += 1
        boundary = f"=_{self._notification.digest}.{self._multiparts}"
        value = f'multipart/{kind}; boundary="{boundary}"'
        start = f"--{boundary}\r\n".encode()
        content = [piece for part in parts for piece in (start, part, b"\r\n")]
        end = f"--{boundary}--\r\n".encode()
        return _entity((*headers, Header("Content-Type", value)), *content, end)


def _entity(headers: Sequence[Header], *content: bytes) -> bytes:
    return b"".join((head(headers), b"\r\n", *content))


@cache
def _about_text(kind: str, encoding: str) -> tuple[Header, Header]:
    return (
        Header("Content-Type", f'text/{kind}; charset="utf-8"'),
        Header("Content-Transfer-Encoding", encoding),
    )


def _encoding(text: str, *, eight_bit: bool) -> str:
    lines = text.split("\n")
    if not _NOT_PLAIN.search(text):
        if max(map(len, lines)) <= _LONGEST_SHORT:
            return "7bit"
    elif eight_bit and not _CONTROL.search(text) and _longest(lines) <= LONGEST_LINE:
        return "8bit"
    return "base64"


def _longest(lines: Sequence[str]) -> int:
    return max(len(line.encode()) for line in lines)


def _base64(content: bytes) -> bytes:
    return encodebytes(content).replace(b"\n", b"\r\n")


def _file(enclosure: Enclosure) -> bytes:
    about = enclosure.about
    disposition = with_parameter("Content-Disposition", "attachment", "filename", about.name)
    return _encoded(enclosure, disposition)


def _image(enclosure: Enclosure) -> bytes:
    about = enclosure.about
    disposition = with_parameter("Content-Disposition", "inline", "filename", about.name)
    return _encoded(enclosure, disposition, exact("Content-ID", f"<{about.file}>"))


def _encoded(enclosure: Enclosure, *headers: Header) -> bytes:
    kind = exact("Content-Type", enclosure.about.type)
    given = (kind, Header("Content-Transfer-Encoding", "base64"), *headers)
    return _entity(given, _base64(enclosure.content))
