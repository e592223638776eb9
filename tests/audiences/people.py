"""Functions that give audiences, as somebody's own package would have them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from notify.notification import Notification
from tests.audiences.rig import phone

calls: list[datetime] = []
alive: list[int] = []


def three(planned: datetime) -> Iterator[Notification | Mapping[str, Any]]:
    """One as it is to be, one with the schedule's content, one that is wrong."""
    calls.append(planned)
    yield Notification(channel="sms", recipient=phone(1), body="Own", id="mine", labels={"a": "b"})
    yield {"recipient": phone(2), "id": "mine", "expires_at": planned.replace(year=2099)}
    yield {"recipient": "12"}
    yield 7  # type: ignore[misc]
    yield {"recipient": phone(5), "labels": {"x"}}


def changing(planned: datetime) -> Iterator[Mapping[str, Any]]:
    calls.append(planned)
    yield from ({"recipient": phone(len(calls) + n)} for n in range(100))


def failing(_planned: datetime) -> Iterator[Mapping[str, Any]]:
    yield {"recipient": phone(1)}
    raise OSError(phone(1))


def many(_planned: datetime) -> Iterator[Mapping[str, Any]]:
    yield from ({"recipient": phone(n)} for n in range(400))


def none(_planned: datetime) -> Iterator[Mapping[str, Any]]:
    yield from ()
