"""A file that goes with an email: where it lies, and what it was when the email was published.

Only the place travels. Whoever sends reads the file again, and sends it only if it is still
the same.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

from notify.errors import InvalidNotification

FOLDER: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
MAX_ATTACHMENTS: Final = 20
_MAX_PATH: Final = 512
_MAX_NAME: Final = 200
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
# Parts of these types have rules of their own, and must not be encoded.
_TYPE: Final = re.compile(r"(?!message/|multipart/)[a-z]{1,20}/[a-z0-9][a-z0-9.+-]{0,99}")
# In a URL (cid:) and in a header alike it stands for itself.
_INLINE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
# Control characters, those that turn the reading direction so that "exe" looks like "pdf", and
# what is no character.
_UNSAFE_NAMES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file below a declared folder; ``inline`` if the HTML shows it (``cid:`` and ``file``).

    Raises ``InvalidNotification`` that names the field but not the file.
    """

    folder: str
    file: str
    sha256: str
    size: int
    type: str
    inline: bool = False

    def __post_init__(self) -> None:
        check_place(self.folder, self.file)
        if not _matches(_SHA256, self.sha256):
            raise _wrong("sha256 must be 64 hexadecimal digits")
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 0:
            raise _wrong("size must be a number of bytes")
        if not _matches(_TYPE, self.type):
            raise _wrong("type must be a media type like application/pdf, for one file")
        if not isinstance(self.inline, bool):
            raise _wrong("inline must be true or false")
        if self.inline and not (_matches(_INLINE, self.file) and self.type.startswith("image/")):
            raise _wrong("inline is for images with a name of letters, digits and . _ - only")

    @property
    def name(self) -> str:
        """How the recipient sees it."""
        return self.file.rpartition("/")[2]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``inline`` is left out where it is false."""
        values = asdict(self)
        if not self.inline:
            del values["inline"]
        return values

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Reads the JSON form. Raises ``InvalidNotification``."""
        known = {item.name for item in fields(cls)}
        if not isinstance(values, Mapping) or not known - {"inline"} <= values.keys() <= known:
            raise _wrong("each must be an object with folder, file, sha256, size, type, inline")
        return cls(**values)


def check_place(folder: Any, file: Any) -> None:
    """Whether that is the name of a folder, and a path below it that cannot lead out of it."""
    if not _matches(FOLDER, folder):
        raise _wrong("folder must be the name of a declared folder")
    if not isinstance(file, str) or not 1 <= len(file) <= _MAX_PATH:
        raise _wrong(f"file must be a path of at most {_MAX_PATH} characters")
    if any(unicodedata.category(each) in _UNSAFE_NAMES or each in _TURNS for each in file):
        raise _wrong("file has characters that no file name should have")
    parts = file.split("/")
    if len(parts[-1]) > _MAX_NAME or not all(map(_is_name, parts)):
        raise _wrong("file must be a path below the folder, without hidden names")


def _is_name(part: str) -> bool:
    """What begins with a full stop is hidden, or leads upwards; spaces around get lost."""
    return bool(part) and not part.startswith(".") and part == part.strip()


def check_attachments(channel: str, attachments: Any, html: str | None) -> None:
    """Whether a notification can have these attachments."""
    if not isinstance(attachments, tuple) or not all(
        isinstance(each, Attachment) for each in attachments
    ):
        raise _wrong("must be a tuple of Attachment")
    if attachments and channel != "email":
        raise _wrong(f"is not used by channel {channel}")
    if len(attachments) > MAX_ATTACHMENTS:
        raise _wrong(f"must be at most {MAX_ATTACHMENTS}")
    shown = [each.file for each in attachments if each.inline]
    if shown and not html:
        raise _wrong("inline needs html that shows it")
    if len(set(shown)) < len(shown):
        raise _wrong("two inline images have the same file")


def read_attachments(values: Any) -> tuple[Attachment, ...]:
    """Reads the JSON form. Raises ``InvalidNotification``."""
    if not isinstance(values, list | tuple):
        raise _wrong("must be a list of objects")
    return tuple(
        each if isinstance(each, Attachment) else Attachment.from_dict(each) for each in values
    )


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _wrong(problem: str) -> InvalidNotification:
    return InvalidNotification("attachments", problem)
