"""The mail server: Postfix's smtp-sink, which keeps what it takes in one file."""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benching.children import Child, program
from benching.spread import middle_rate
from benching.values import Points
from benching.waiting import until

_START_SECONDS: Final = 10.0
_SETTLE: Final = 0.1
_LETTER: Final = re.compile(rb"^X-Client-Addr: ", re.MULTILINE)
_ID: Final = re.compile(rb"^Message-Id: <(?P<id>[^>]+)>", re.MULTILINE | re.IGNORECASE)
_RECEIVED: Final = re.compile(rb"^Received: .*\n(?:[ \t].*\n)*", re.MULTILINE)


class MailSink:
    """A private smtp-sink, as a context manager."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._folder = folder
        self._file = folder / "letters"
        self._child: Child | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        # As root it insists on becoming another user.
        self._folder.chmod(0o777)
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        address = f"127.0.0.1:{self.port}"
        command = [program("smtp-sink"), *user, "-D", str(self._file), address, "1000"]
        self._child = Child(command, os.environ, self._folder / "output.log")
        until(self._answers, "smtp-sink answers", _START_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child is not None:
            self._child.end()

    def _answers(self) -> bool:
        assert self._child is not None
        self._child.check()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def begin(self) -> "Post":
        return Post(self._file)


class Post:
    """The letters since some moment."""

    def __init__(self, file: Path) -> None:
        self.growth: Points = []
        self._file = file
        self._start = self._read = file.stat().st_size if file.exists() else 0
        self._count = 0
        self._rest = b""

    def count(self) -> int:
        """How many have come so far; notes when."""
        if self._file.exists():
            with self._file.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            self._read += len(new)
            text = self._rest + new
            self._count += len(_LETTER.findall(text))
            # The beginning of a line may be that of a letter once the rest of it is there.
            last = text.rfind(b"\n") + 1
            self._rest = text[last:] if not _LETTER.search(text, last) else b""
        self.growth.append((time.monotonic(), float(self._count)))
        return self._count

    def settle(self) -> None:
        """Until the last letter is written to its end."""
        before = -1
        while before != (now := self._file.stat().st_size):
            before = now
            time.sleep(_SETTLE)

    def letters(self) -> Iterator[tuple[str, int]]:
        """The id and the size of each, as it left its sender."""
        with self._file.open("rb") as file:
            file.seek(self._start)
            text = file.read()
        starts = [found.start() for found in _LETTER.finditer(text)]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            content = text[start:end]
            received = _RECEIVED.search(content)
            sent = content[received.end() :] if received else content
            id = _ID.search(sent)
            yield (id["id"].decode() if id else ""), len(sent)

    def pace(self) -> float:
        """Letters a second between the first tenth and the last."""
        return middle_rate(self.growth, self.growth[-1][1])
