"""Reads files below a folder, and only there.

Each step of the way is opened from the one before, and no symbolic link is followed, so that
a path cannot be changed into one that leads out of the folder while it is being looked at.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

_WAY: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
# Opening a FIFO or a device must not wait for anybody.
_FILE: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FileMissing(Exception):
    """There is no such file, or what is there is none."""


class FileTooLarge(Exception):
    """The file is larger than it may be."""


class FolderUnreadable(Exception):
    """The folder is not there, or this machine has trouble with it."""


def read_below(folder: Path, file: str, limit: int) -> bytes:
    """The content of the file. ``file`` is a relative path without ``..``.

    Raises ``FileMissing``, ``FileTooLarge`` if there is more than ``limit`` bytes, and
    ``FolderUnreadable``. None of them says which file.
    """
    try:
        opened = _open(_open_folder(folder), file.split("/"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise FileMissing("missing") from None
    except PermissionError:
        raise FileMissing("not readable") from None
    except OSError as error:
        raise _no_link(error) from None
    try:
        return _read(opened, limit)
    except OSError as error:
        raise FolderUnreadable(os.strerror(error.errno or 0)) from None
    finally:
        os.close(opened)


def _read(opened: int, limit: int) -> bytes:
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        raise FileMissing("not a regular file")
    with open(opened, "rb", closefd=False) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise FileTooLarge("too large")
    return content


def _no_link(error: OSError) -> Exception:

    # ELOOP is a symbolic link; ENXIO and ENODEV are sockets and devices that nobody serves.
    if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ENAMETOOLONG):
        return FileMissing("not a regular file")
    return FolderUnreadable(os.strerror(error.errno or 0))


def _open_folder(folder: Path) -> int:
    try:
        return os.open(folder, _WAY)
    except OSError as error:
        raise FolderUnreadable(os.strerror(error.errno or 0)) from None


def _open(folder: int, names: list[str]) -> int:
    """Opens the last name, from folder to folder. Closes ``folder``."""
    try:
        for name in names[:-1]:
            inner = os.open(_step(name), _WAY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(_step(names[-1]), _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _step(name: str) -> str:
    """The check of last resort: attachments refuse such names themselves."""
    if not name or name.startswith("."):
        raise ValueError("is not a name below the folder")
    return name
