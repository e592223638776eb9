"""Makes attachments of files when an email is published."""

import hashlib
import mimetypes
from collections.abc import Sequence
from typing import Final

from notify.attachments import Attachment, check_place
from notify.config import Settings
from notify.errors import InvalidNotification
from notify.folders import FileMissing, FileTooLarge, FolderUnreadable, read_below

# The types that Python knows: those of the machine would differ from host to host.
_TYPES: Final = mimetypes.MimeTypes()
_PACKED: Final = {"gzip": "application/gzip", "bzip2": "application/x-bzip2"}
_UNKNOWN: Final = "application/octet-stream"


def attach(settings: Settings, folder: str, file: str, *, inline: bool = False) -> Attachment:
    """The attachment that the file is now; workers send it only while it stays the same.

    ``folder`` is one of ``[attachments]`` in ``channels/email.toml``, ``file`` a path below
    it. With ``inline`` the HTML shows it as ``cid:`` and ``file``. Raises
    ``InvalidNotification``.
    """
    check_place(folder, file)
    declared = settings.attachments.folders
    if folder not in declared:
        raise InvalidNotification("attachments", "folder is not declared in channels/email.toml")
    try:
        content = read_below(declared[folder], file, settings.attachments.max_bytes)
    except FileTooLarge:
        raise _too_large(settings) from None
    except FileMissing as error:
        raise InvalidNotification("attachments", f"the file is {error}") from None
    except FolderUnreadable as error:
        raise InvalidNotification("attachments", f"the folder cannot be read: {error}") from None
    return Attachment(
        folder=folder,
        file=file,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        type=_type_of(file),
        inline=inline,
    )


def check_attached(settings: Settings, attachments: Sequence[Attachment]) -> None:
    """Whether workers with these settings would send them. Raises ``InvalidNotification``."""
    if any(each.folder not in settings.attachments.folders for each in attachments):
        raise InvalidNotification("attachments", "folder is not declared in channels/email.toml")
    if sum(each.size for each in attachments) > settings.attachments.max_bytes:
        raise _too_large(settings)


def _type_of(file: str) -> str:
    kind, packed = _TYPES.guess_type(f"./{file}")
    if packed is not None:
        return _PACKED.get(packed, _UNKNOWN)
    # Mails in mails are sent as what they are here: files.
    return kind if kind and not kind.startswith(("message/", "multipart/")) else _UNKNOWN


def _too_large(settings: Settings) -> InvalidNotification:
    most = settings.attachments.max_bytes
    return InvalidNotification("attachments", f"must have at most {most} bytes together")
