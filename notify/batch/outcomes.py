"""What became of each row of a batch, from the ledger and the archive."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from notify.batch.source import Source
from notify.ledger import Ledger
from notify.rows import Row
from notify.store import Store
from notify.store.batches import Batch, BatchFailure

DELIVERED: Final = "delivered"
WAITING: Final = "waiting"
UNKNOWN: Final = "unknown"
DEAD: Final = "dead"
REJECTED: Final = "rejected"
NOT_PUBLISHED: Final = "not published"
NOT_YET: Final = "not yet published"
NOT_FOUND: Final = "not found"
_WORDS: Final = {"sent": DELIVERED, "sending": WAITING, "waiting": WAITING}
_MOST_NAMED: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """``detail`` is why a row is dead, was not published or is wrong."""

    number: int
    id: str
    outcome: str
    detail: str = ""


@dataclass(kw_only=True, slots=True)
class Reconciliation:
    """``counts`` are rows by outcome; ``unaccounted`` are the first of those that were
    published and that neither the ledger nor the archive knows: they are in a queue still, or
    were forgotten after their retention."""

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    unaccounted: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        dead = outcome.outcome == DEAD and outcome.detail
        self.rows += 1
        self.counts[f"{DEAD}: {outcome.detail}" if dead else outcome.outcome] += 1
        if outcome.outcome == NOT_FOUND and len(self.unaccounted) < _MOST_NAMED:
            self.unaccounted.append(outcome)


@dataclass(frozen=True, kw_only=True)
class Inquiry:
    """Asks ledger and archive about rows of one batch."""

    batch: Batch
    failures: dict[int, BatchFailure]
    ledger: Ledger
    store: Store

    def reconcile(self, source: Source, each: Callable[[Outcome], None]) -> Reconciliation:
        """``each`` is told of every row; none is kept in memory. Raises ``Unavailable``."""
        found = Reconciliation()
        for row in source.rows():
            outcome = self._outcome(row)
            found.add(outcome)
            each(outcome)
        return found

    def _outcome(self, row: Row) -> Outcome:
        if row.notification is None:
            problem = f"{row.column}: {row.problem}" if row.column else row.problem
            return Outcome(number=row.number, id="", outcome=REJECTED, detail=problem)
        id = row.notification.id
        outcome, detail = self._known(id)
        if outcome == NOT_FOUND and row.number in self.failures:
            outcome, detail = NOT_PUBLISHED, self.failures[row.number].error
        elif outcome == NOT_FOUND and row.number > self.batch.cursor:
            outcome = NOT_YET
        return Outcome(number=row.number, id=id, outcome=outcome, detail=detail)

    def _known(self, id: str) -> tuple[str, str]:
        record = self.ledger.record(id)
        if record is not None and record.state in _WORDS:
            return _WORDS[record.state], ""
        letters = self.store.get(id)
        if record is not None and record.state == "unknown":
            return UNKNOWN, ""
        if letters:
            return DEAD, letters[-1].letter.reason
        return (DEAD, "") if record is not None else (NOT_FOUND, "")
