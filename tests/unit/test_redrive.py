"""What reached the delivery limit is driven once more, alone; all else is stored."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from notify.deadletter import DeadLetter, from_envelope
from notify.errors import QueueFull
from notify.message import ALONE, PROVIDER, Envelope, Message
from notify.notification import Notification
from notify.outcomes import Reason
from notify.redrive import Redriver, envelope_for_redrive

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ENVELOPE = Envelope(
    notification=Notification(channel="sms", recipient="+491701234567", body="Hello", id="a"),
    generation=2,
    attempt=3,
    first_queued=NOW,
    trace="00-1-2-01",
)


def letter(reason: Reason, **changes: Any) -> DeadLetter:
    return from_envelope(ENVELOPE, reason, "", (), NOW).evolve(**changes)


class Archive:
    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []

    def create(self) -> None:
        raise NotImplementedError

    def add(self, letters: Sequence[DeadLetter]) -> int:
        self.letters += letters
        return len(letters)


class Publisher:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.messages: list[Message] = []

    def publish(self, exchange: str, message: Message) -> None:
        if self.error:
            raise self.error
        assert exchange == "notify"
        self.messages.append(message)


def drive(letters: list[DeadLetter], publisher: Publisher) -> list[DeadLetter]:
    archive = Archive()
    untyped: Any = publisher
    Redriver(archive, untyped).add(letters)
    return archive.letters


def test_it_is_the_same_attempt_of_the_same_generation_marked() -> None:
    assert envelope_for_redrive(letter(Reason.DELIVERY_LIMIT)) == ENVELOPE.evolve(alone=True)


def test_who_may_have_had_it_gets_it_again() -> None:
    pinned = letter(Reason.DELIVERY_LIMIT, headers={PROVIDER: "first"})
    assert envelope_for_redrive(pinned) == ENVELOPE.evolve(alone=True, provider="first")


@pytest.mark.parametrize(
    "kept",
    [
        letter(Reason.REFUSED),
        letter(Reason.UNPARSEABLE, notification=None, raw=b"?"),
        letter(Reason.DELIVERY_LIMIT, headers={ALONE: True}),
        letter(Reason.DELIVERY_LIMIT, notification=None),
        letter(Reason.DELIVERY_LIMIT, notification={"v": 1, "channel": "fax"}),
    ],
)
def test_what_is_stored_at_once(kept: DeadLetter) -> None:
    publisher = Publisher()
    assert drive([kept], publisher) == [kept]
    assert publisher.messages == []


def test_only_what_was_confirmed_is_not_stored() -> None:
    limit, other = letter(Reason.DELIVERY_LIMIT), letter(Reason.REFUSED)
    publisher = Publisher()
    assert drive([limit, other], publisher) == [other]
    assert [message.headers[ALONE] for message in publisher.messages] == [True]
    assert drive([limit, other], Publisher(QueueFull())) == [limit, other]
