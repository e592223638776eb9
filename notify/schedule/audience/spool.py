"""Private copies of audiences: what is read for hours may be overwritten meanwhile.

A copy has its batch's name, only its owner may read it, and it is complete or not there.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast

from notify.config import Settings
from notify.errors import InvalidInput

_SQLITE: Final = "sqlite:///"
_FOLDER: Final = "audiences"
_PARTIAL: Final = ".partial"
# A copy that nobody completes was begun by somebody who was killed.
_ABANDONED: Final = 86400.0


def spool_directory(settings: Settings, environ: Mapping[str, str] | None = None) -> Path | None:
    """Beside an archive in SQLite; otherwise in the state directory that systemd gives."""
    url = settings.archive.url
    if url.startswith(_SQLITE):
        return Path(url.removeprefix(_SQLITE).partition("?")[0]).parent / _FOLDER
    environ = os.environ if environ is None else environ
    given = environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return Path(given) / _FOLDER if given else None


class Spool:
    """The copies in a directory; without one they last only as long as they are open."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def open(self, batch: str) -> BinaryIO | None:
        """The copy, where there is one."""
        if self._directory is None:
            return None
        try:
            return (self._directory / batch).open("rb")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _trouble(error) from error

    def make(self, batch: str, fill: Callable[[BinaryIO], None], *, keep: bool = True) -> BinaryIO:
        """A copy with what ``fill`` writes, to be closed; without ``keep`` nobody finds it.

        Raises ``InvalidInput`` where it cannot be written, and what ``fill`` raises.
        """
        try:
            if self._directory is None or not keep:
                return self._nameless(fill)
            return self._named(self._directory, batch, fill)
        except OSError as error:
            raise _trouble(error) from error

    def remove(self, batch: str) -> None:
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / batch).unlink()

    def batches(self) -> list[str]:
        """Those that have a copy."""
        return [path.name for path in self._files() if path.suffix != _PARTIAL]

    def age(self, batch: str) -> float:
        """Seconds since the copy was made."""
        assert self._directory is not None
        return _age(self._directory / batch)

    def sweep(self) -> None:
        """Removes what was begun and never completed."""
        for path in self._files():
            if path.suffix == _PARTIAL and _age(path) > _ABANDONED:
                with suppress(OSError):
                    path.unlink()

    def _files(self) -> list[Path]:
        if self._directory is None or not self._directory.is_dir():
            return []
        return sorted(self._directory.iterdir())

    def _nameless(self, fill: Callable[[BinaryIO], None]) -> BinaryIO:
        file = cast(BinaryIO, TemporaryFile("w+b"))  # noqa: SIM115
        try:
            fill(file)
            file.flush()
        except BaseException:
            file.close()
            raise
        return file

    def _named(self, directory: Path, batch: str, fill: Callable[[BinaryIO], None]) -> BinaryIO:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = directory / f"{batch}.{token_hex(4)}{_PARTIAL}"
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(directory / batch)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        _keep_name(directory)
        return (directory / batch).open("rb")


def _keep_name(directory: Path) -> None:
    """So that a power cut does not take it."""
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _age(path: Path) -> float:
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return 0.0


def _trouble(error: OSError) -> InvalidInput:
    return InvalidInput(f"no private copy of the audience can be kept: {error.strerror}")
