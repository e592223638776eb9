"""The content of a mail: texts, images they show, and files, as a tree of MIME parts. Pure."""

import re
from base64 import encodebytes
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Final

from notify.attachments import Attachment
from notify.channels.headers import LONGEST_LINE, Header, entity, exact, with_parameter
from notify.notification import Notification

_LONGEST_SHORT: Final = 76
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
) -> EmailMessage:
    """The whole mail: ``headers``, and the content in the fewest parts that it needs.

    ``eight_bit`` leaves texts unencoded where the lines allow it.
    """
    content = _Content(notification, eight_bit=eight_bit)
    files = [each for each in enclosures if not each.about.inline]
    texts = (*headers, _VERSION) if not files else ()
    body = content.texts(texts, [each for each in enclosures if each.about.inline])
    if not files:
        return body
    whole = content.multipart((*headers, _VERSION), "mixed")
    for part in (body, *map(_file, files)):
        whole.attach(part)
    return whole


class _Content:
    def __init__(self, notification: Notification, *, eight_bit: bool) -> None:
        self._notification = notification
        self._eight_bit = eight_bit
        self._multiparts = 0

    def texts(self, headers: Sequence[Header], images: Sequence[Enclosure]) -> EmailMessage:
        body, html = self._notification.body, self._notification.html
        if not html:
            return self._text(headers, body or "", "plain")
        if not body:
            return self._html(headers, html, images)
        both = self.multipart(headers, "alternative")
        both.attach(self._text((), body, "plain"))
        both.attach(self._html((), html, images))
        return both

    def _html(
        self, headers: Sequence[Header], html: str, images: Sequence[Enclosure]
    ) -> EmailMessage:
        if not images:
            return self._text(headers, html, "html")
        related = self.multipart(headers, "related")
        for part in (self._text((), html, "html"), *map(_image, images)):
            related.attach(part)
        return related

    def _text(self, headers: Sequence[Header], text: str, kind: str) -> EmailMessage:
        lines = re.split(r"\r\n|\r|\n", re.sub(r"(?:\r\n|\r|\n)\Z", "", text))
        encoding = _encoding(lines, eight_bit=self._eight_bit)
        made = entity(
            (
                *headers,
                Header("Content-Type", f'text/{kind}; charset="utf-8"'),
                Header("Content-Transfer-Encoding", encoding),
            )
        )
        content = "".join(f"{line}\r\n" for line in lines).encode()
        if encoding == "base64":
            content = encodebytes(content)
        made.set_payload(content.decode("ascii", "surrogateescape"))
        return made

    def multipart(self, headers: Sequence[Header], kind: str) -> EmailMessage:
        """One without parts. A text cannot contain its boundary, which is made of its digest."""
        self._multiparts += 1
        boundary = f"=_{self._notification.digest}.{self._multiparts}"
        value = f'multipart/{kind}; boundary="{boundary}"'
        return entity((*headers, Header("Content-Type", value)))


def _encoding(lines: Sequence[str], *, eight_bit: bool) -> str:
    if all(re.fullmatch(r"[\t -~]*", line) for line in lines):
        if max(map(len, lines)) <= _LONGEST_SHORT:
            return "7bit"
    elif eight_bit and all(map(_goes_unencoded, lines)):
        return "8bit"
    return "base64"


def _goes_unencoded(line: str) -> bool:
    return len(line.encode()) <= LONGEST_LINE and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line)


def _file(enclosure: Enclosure) -> EmailMessage:
    about = enclosure.about
    disposition = with_parameter("Content-Disposition", "attachment", "filename", about.name)
    return _encoded(enclosure, disposition)


def _image(enclosure: Enclosure) -> EmailMessage:
    about = enclosure.about
    disposition = with_parameter("Content-Disposition", "inline", "filename", about.name)
    return _encoded(enclosure, disposition, exact("Content-ID", f"<{about.file}>"))


def _encoded(enclosure: Enclosure, *headers: Header) -> EmailMessage:
    kind = exact("Content-Type", enclosure.about.type)
    made = entity((kind, Header("Content-Transfer-Encoding", "base64"), *headers))
    made.set_payload(encodebytes(enclosure.content).decode("ascii"))
    return made
