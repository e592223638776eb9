"""What is to be done: the same notifications for everybody."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from benching.values import Broken
from notify import Client, Notification

# Some that come first and are compared byte by byte at the gateway.
PROBES: Final = 10
PROBE: Final = "probe-"
MEASURED: Final = "bench-"
RECIPIENT: Final = "+491701234567"
TEXT: Final = "Your parcel leaves tomorrow between 9 and 12. " * 3
MAIL: Final = "Good day,\n\nyour parcel leaves tomorrow between 9 and 12.\n" * 17
CREATED: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ids(count: int, prefix: str = MEASURED, first: int = 0) -> Iterator[str]:
    return (f"{prefix}{number:08}" for number in range(first, first + count))


def text(id: str, priority: str = "normal") -> Notification:
    return Notification(
        channel="sms",
        recipient=RECIPIENT,
        id=id,
        priority=priority,
        body=TEXT.strip(),
        created_at=CREATED,
    )


def mail(id: str) -> Notification:
    return Notification(
        channel="email",
        recipient="person@example.com",
        id=id,
        subject="Your parcel",
        body=MAIL,
        created_at=CREATED,
    )


def texts(count: int, probes: int = PROBES, first: int = 0) -> Iterator[Notification]:
    """The probes, then as many as are measured."""
    yield from map(text, ids(probes, PROBE))
    yield from map(text, ids(count, first=first))


def publish_all(client: Client, notifications: Iterable[Notification]) -> None:
    """Each confirmed. Raises ``Broken`` for the first that is not."""
    for sent in client.send_many(notifications):
        if sent.error is not None:
            raise Broken(f"{sent.id}: {sent.error}")


def plain(notification: Notification) -> dict[str, Any]:
    """As JSON has it, for peers that take a dictionary."""
    return notification.to_dict()
