"""The ledger: what happened to each notification, in Redis, one atomic script a step."""

from notify.ledger.ledger import Ledger
from notify.ledger.many import Known, Replayed, Replaying
from notify.ledger.values import (
    AttemptRecord,
    Busy,
    Claim,
    Claimed,
    Conflict,
    Duplicate,
    Health,
    NextStep,
    Record,
    Stale,
    Unpublished,
)

__all__ = [
    "AttemptRecord",
    "Busy",
    "Claim",
    "Claimed",
    "Conflict",
    "Duplicate",
    "Health",
    "Known",
    "Ledger",
    "NextStep",
    "Record",
    "Replayed",
    "Replaying",
    "Stale",
    "Unpublished",
]
