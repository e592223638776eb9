"""How the rows of a batch leave it: what is published, and what is noted of each."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from notify.errors import NotifyError, QueueFull, Unavailable, Unconfirmed
from notify.notification import Notification
from notify.publish import Sent
from notify.rows import Row

# Errors after which a row comes again.
TEMPORARY: Final = (QueueFull, Unavailable, Unconfirmed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What became of one row: RabbitMQ has it, or there is an ``error``, or it was
    ``left_out``, because its turn showed that it is not one to publish."""

    number: int
    error: NotifyError | None = None
    left_out: bool = False


class Outlet(Protocol):
    """Where the rows of a batch go. Every row has a notification."""

    def send(self, rows: Iterable[Row], *, window: int) -> Iterator[Done]:
        """One ``Done`` for each row, in any order; at most ``window`` are under way at once.

        All are over when it ends. A row comes again after a ``TEMPORARY`` error.
        """
        ...

    def save(self) -> None:
        """Makes durable what is known of single rows, before the cursor passes them."""
        ...


class Sender(Protocol):
    """Publishes many notifications, as ``Client`` does."""

    def send_many(
        self, notifications: Iterable[Notification], *, window: int
    ) -> Iterator[Sent]: ...


class Publishing:
    """Publishes each row's notification as it is; nothing has to be known but how many."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def send(self, rows: Iterable[Row], *, window: int) -> Iterator[Done]:
        # Rows may have the same id: confirms of one id are those of the first row with it.
        numbers: dict[str, deque[int]] = {}
        for sent in self._sender.send_many(_notifications(rows, numbers), window=window):
            waiting = numbers[sent.id]
            yield Done(number=waiting.popleft(), error=sent.error)
            if not waiting:
                del numbers[sent.id]

    def save(self) -> None:
        """Nothing is noted of single rows that are published."""


def _notifications(rows: Iterable[Row], numbers: dict[str, deque[int]]) -> Iterator[Notification]:
    for row in rows:
        assert row.notification is not None
        numbers.setdefault(row.notification.id, deque()).append(row.number)
        yield row.notification
