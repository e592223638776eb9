"""The archive: dead letters and their replays in an SQL database."""

from notify.store.filters import Filter
from notify.store.rows import ArchivedLetter, Replay
from notify.store.store import Store

__all__ = ["ArchivedLetter", "Filter", "Replay", "Store"]
