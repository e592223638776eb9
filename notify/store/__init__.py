"""The archive: dead letters and their replays in an SQL database."""

from notify.store.backups import Backup, inspect_backup
from notify.store.counting import COUNTABLE, LABEL, SPANS
from notify.store.filters import Filter
from notify.store.purging import Purge
from notify.store.rows import ArchivedLetter, Replay, Reveal
from notify.store.schema import VERSION as SCHEMA
from notify.store.store import Store

__all__ = [
    "COUNTABLE",
    "LABEL",
    "SCHEMA",
    "SPANS",
    "ArchivedLetter",
    "Backup",
    "Filter",
    "Purge",
    "Replay",
    "Reveal",
    "Store",
    "inspect_backup",
]
