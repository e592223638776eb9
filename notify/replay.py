"""Sends an archived notification again, under a new generation of the same id.

The archive's record of the replay comes first and is closed last: a replay that was
interrupted is repeated with the same generation, and cannot double.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from notify.blocklist import Blocklist
from notify.broker import Publisher
from notify.deadletter import DeadLetter
from notify.errors import InvalidNotification, PublishError, Unavailable
from notify.ledger import Ledger, Record
from notify.message import Envelope, encode
from notify.notification import Notification
from notify.store import ArchivedLetter, Store
from notify.topology import EXCHANGE


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """The result for one dead letter; ``note`` says why it was not sent."""

    seq: int
    id: str
    generation: int = 0
    note: str = ""

    @property
    def ok(self) -> bool:
        return not self.note


@dataclass(frozen=True, kw_only=True)
class Replayer:
    """Replays dead letters at ``priority``, for ``actor``."""

    store: Store
    ledger: Ledger
    publisher: Publisher
    blocklist: Blocklist
    retention: float
    actor: str
    priority: str = "normal"

    def refusal(self, row: ArchivedLetter) -> str:
        """Why this dead letter cannot be replayed; empty when it can."""
        if row.letter.notification is None or row.letter.id is None:
            return "it could not be parsed, so there is nothing to send"
        try:
            notification = Notification.from_dict(row.letter.notification)
        except InvalidNotification as error:
            return f"the notification is invalid: {error}"
        if notification.expired(datetime.now(UTC)):
            return "its expires_at has passed"
        block = self.blocklist.blocked(notification)
        if block is not None:
            return f"it would be archived again as {block.reason} ({block.detail})"
        record = self.ledger.record(row.letter.id)
        if record is not None and record.state == "sent":
            return "it has been delivered since"
        if record is not None and _on_its_way(record, row.letter):
            return "it is on its way"
        if record is not None and record.generation > row.letter.generation + 1:
            return "a later generation has been replayed"
        return ""

    def replay(self, row: ArchivedLetter) -> Replayed:
        """Publishes the notification again. Raises ``StoreUnavailable``."""
        note = self.refusal(row)
        if note:
            return Replayed(seq=row.seq, id=row.letter.id or "", note=note)
        envelope = self._envelope(row)
        id, generation = envelope.notification.id, envelope.generation
        now = datetime.now(UTC)
        entry = self.store.begin_replay(row.seq, self.actor, generation, now)
        note = self._publish(envelope, row.letter.attempt)
        self.store.finish_replay(entry, not note, note)
        return Replayed(seq=row.seq, id=id, generation=generation, note=note)

    def _envelope(self, row: ArchivedLetter) -> Envelope:
        notification = Notification.from_dict(row.letter.notification)
        return Envelope(
            notification=notification.evolve(priority=self.priority),
            generation=row.letter.generation + 1,
            first_queued=datetime.now(UTC),
        )

    def _publish(self, envelope: Envelope, archived: int) -> str:
        answer = self.ledger.replay(envelope, retention=self.retention, archived=archived)
        if answer != "ok":
            return {"sent": "it has been delivered since"}.get(answer, "it is on its way")
        try:
            self.publisher.publish(EXCHANGE, encode(envelope, now=datetime.now(UTC)))
        except (PublishError, Unavailable) as error:
            return f"not confirmed, replay it again: {error}"
        return ""


def _on_its_way(record: Record, letter: DeadLetter) -> bool:
    """Whether a worker has it, or a message for its next attempt is somewhere."""
    if record.state == "sending":
        return record.lease_until is not None and record.lease_until > datetime.now(UTC)
    stranded = letter.generation == record.generation and letter.attempt > record.attempt
    return record.state == "waiting" and record.attempt > 0 and not stranded
