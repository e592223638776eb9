"""A message that the broker gave up on gets one more chance, alone.

RabbitMQ counts a delivery against every message that a dying worker held, so that innocent
ones reach the delivery limit together with the one that killed it. Each is published once
more, marked to be delivered in a process of its own: the innocent ones arrive, and what kills
again is archived as ``poison``.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from notify.broker import Publisher
from notify.deadletter import DeadLetter
from notify.errors import InvalidNotification, PublishError, Unavailable
from notify.message import ALONE, Envelope, encode, pinned
from notify.notification import Notification
from notify.outcomes import Reason
from notify.telemetry import event
from notify.topology import EXCHANGE

log = logging.getLogger(__name__)


class Archive(Protocol):
    """Where letters go that are not driven again."""

    def create(self) -> None: ...

    def add(self, letters: Sequence[DeadLetter]) -> int: ...


class Redriver:
    """An archive that drives again what reached the delivery limit, before it is stored.

    A letter whose publish is not confirmed is stored as it is: nothing is lost either way.
    """

    def __init__(self, archive: Archive, publisher: Publisher) -> None:
        self._archive = archive
        self._publisher = publisher

    def create(self) -> None:
        self._archive.create()

    def add(self, letters: Sequence[DeadLetter]) -> int:
        return self._archive.add([letter for letter in letters if not self._driven(letter)])

    def _driven(self, letter: DeadLetter) -> bool:
        envelope = envelope_for_redrive(letter)
        if envelope is None:
            return False
        try:
            self._publisher.publish(EXCHANGE, encode(envelope, now=datetime.now(UTC)))
        except (PublishError, Unavailable) as error:
            log.warning("not driven again", extra=event(id=letter.id, problem=str(error)))
            return False
        log.info("driven again, alone", extra=event(id=letter.id, channel=letter.channel))
        return True


def envelope_for_redrive(letter: DeadLetter) -> Envelope | None:
    """The same attempt once more, marked; None for what has had its chance or cannot."""
    if letter.reason != Reason.DELIVERY_LIMIT or letter.headers.get(ALONE):
        return None
    try:
        notification = Notification.from_dict(letter.notification)
    except InvalidNotification:
        return None
    return Envelope(
        notification=notification,
        generation=letter.generation,
        attempt=letter.attempt,
        first_queued=letter.first_queued or letter.dead_at,
        trace=letter.trace,
        alone=True,
        provider=pinned(letter.headers),
    )
