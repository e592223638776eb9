"""Reads the files of an email when it is sent, and makes sure that they are still the same."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from notify.attachments import Attachment
from notify.channels.parts import Enclosure
from notify.config.attachments import AttachmentSettings
from notify.folders import FileMissing, FileTooLarge, FolderUnreadable, read_below
from notify.outcomes import PermanentFailure, Reason, TemporaryFailure


def read_enclosures(
    attachments: Sequence[Attachment], settings: AttachmentSettings
) -> list[Enclosure]:
    """The attachments with their content. Raises ``DeliveryFailure``, which names no file."""
    if sum(each.size for each in attachments) > settings.max_bytes:
        raise _invalid(f"attachments: more than {settings.max_bytes} bytes together")
    return [
        Enclosure(about=each, content=_read(number, each, settings.folders))
        for number, each in enumerate(attachments, 1)
    ]


def _read(number: int, attachment: Attachment, folders: Mapping[str, Path]) -> bytes:
    folder = folders.get(attachment.folder)
    if folder is None:
        raise _invalid(f"attachment {number}: its folder is not declared here")
    try:
        content = read_below(folder, attachment.file, attachment.size)
    except FileTooLarge:
        raise _invalid(f"attachment {number}: changed since it was published") from None
    except FileMissing as error:
        raise _invalid(f"attachment {number}: {error}") from None
    except FolderUnreadable as error:
        # Of this host, perhaps for a moment: neither the provider's fault nor the file's.
        raise TemporaryFailure(
            Reason.INTERNAL_ERROR, f"attachment {number}: its folder cannot be read: {error}"
        ) from None
    same = len(content) == attachment.size
    if not same or hashlib.sha256(content).hexdigest() != attachment.sha256:
        raise _invalid(f"attachment {number}: changed since it was published")
    return content


def _invalid(detail: str) -> PermanentFailure:
    return PermanentFailure(Reason.INVALID, detail)
