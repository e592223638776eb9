"""What the sandbox received: the value, its durable record, and waiting for it."""

import json
import os
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Condition
from typing import BinaryIO, Final, Literal, Self

from notify.errors import InvalidInput

Channel = Literal["sms", "email", "webhook"]

PAGE: Final = 2000


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request, and the answer chosen for it. Header names are lower case."""

    channel: Channel
    recipient: str
    id: str
    body: str
    subject: str
    headers: dict[str, str]
    raw: str
    at: float
    accepted: bool
    answered: str
    attempt_no: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON data."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: dict[str, object]) -> Self:
        """Read a record that ``to_json`` wrote."""
        return cls(**data)  # type: ignore[arg-type]


class Log:
    """Everything received, in order; recorded in a file before anyone hears of it."""

    def __init__(self, path: Path | None = None, *, sync: bool = False) -> None:
        self._changed = Condition()
        self._released = False
        self._items: list[Received] = []
        self._dropped = 0
        self._attempts: Counter[tuple[str, str, str]] = Counter()
        self._file = _open(path) if path else None
        self._sync = sync

    def add(self, item: Received) -> Received:
        """Number an item, record it durably, and wake whoever waits for it."""
        key = (item.channel, item.recipient, item.id)
        with self._changed:
            numbered = replace(item, attempt_no=self._attempts[key] + 1)
            self._record(numbered)
            self._attempts[key] += 1
            self._items.append(numbered)
            self._changed.notify_all()
        return numbered

    def _record(self, item: Received) -> None:
        if self._file is None:
            return
        self._file.write(json.dumps(vars(item)).encode() + b"\n")
        self._file.flush()
        if self._sync:
            os.fsync(self._file.fileno())

    @property
    def end(self) -> int:
        """The position after the newest item; it only grows."""
        return self._dropped + len(self._items)

    def received(self, recipient: str | None = None) -> list[Received]:
        """Return everything of one recipient, or of all."""
        with self._changed:
            return [each for each in self._items if recipient in (None, each.recipient)]

    def page(self, since: int, recipient: str | None, wait: float) -> tuple[list[Received], int]:
        """Return some items from a position on, and where to go on; wait for news at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._released or self.end > since, wait)
            start = max(since, self._dropped)
            chunk = self._from(start)[:PAGE]
        return [each for each in chunk if recipient in (None, each.recipient)], start + len(chunk)

    def wait_for(
        self, count: int, timeout: float, recipient: str | None = None, accepted_only: bool = True
    ) -> list[Received]:
        """Return the matching items once there are ``count``; raise TimeoutError otherwise."""
        waiting = Waiting(count=count, recipient=recipient, accepted_only=accepted_only)
        deadline = time.monotonic() + timeout
        position = 0
        with self._changed:
            while not waiting.add(self._from(position)):
                position = self.end
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise waiting.too_late(timeout)
                self._changed.wait(remaining)
        return waiting.found

    def _from(self, position: int) -> list[Received]:
        return self._items[max(0, position - self._dropped) :]

    def clear(self) -> None:
        """Forget everything; the file keeps it."""
        with self._changed:
            self._dropped += len(self._items)
            self._items.clear()
            self._attempts.clear()
            self._changed.notify_all()

    def release(self) -> None:
        """Let nobody wait for news any longer."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class Waiting:
    """Counts the items somebody waits for."""

    def __init__(self, *, count: int, recipient: str | None, accepted_only: bool) -> None:
        self.found: list[Received] = []
        self._count = count
        self._recipient = recipient
        self._accepted_only = accepted_only

    def add(self, items: list[Received]) -> bool:
        """Look at more items; say whether there are enough."""
        self.found += [each for each in items if self._wanted(each)]
        return len(self.found) >= self._count

    def _wanted(self, item: Received) -> bool:
        mine = self._recipient in (None, item.recipient)
        return mine and (item.accepted or not self._accepted_only)

    def too_late(self, timeout: float) -> TimeoutError:
        """Say how many there were when the time was over."""
        kind = "accepted" if self._accepted_only else "received"
        whose = f" for {self._recipient}" if self._recipient else ""
        return TimeoutError(
            f"{len(self.found)} of {self._count} {kind}{whose} within {timeout:g} s"
        )


def read_record(path: Path) -> list[Received]:
    """Read a record file; a last line that was never finished was never answered."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [_read_line(path, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(path: Path, number: int, line: bytes) -> Received:
    try:
        return Received.from_json(json.loads(line))
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"{path}:{number}: not a record: {error}") from error


def _open(path: Path) -> BinaryIO:
    try:
        file = path.open("a+b")
    except OSError as error:
        raise InvalidInput(f"record: cannot write {path}: {error.strerror}") from error
    _drop_torn_line(file)
    return file


def _drop_torn_line(file: BinaryIO) -> None:
    """Cut off what a killed process left of a line, so that the next one starts clean."""
    file.seek(0)
    keep = sum(len(line) for line in file if line.endswith(b"\n"))
    file.truncate(keep)
    file.seek(0, os.SEEK_END)
