"""All tables of the archive's database, those of every part that keeps something in it.

A module that declares tables on ``METADATA`` is imported here.
"""

from typing import Final

from sqlalchemy import MetaData

from notify.store import batches, caretables, occurrences, replaytables, schedulerows, schema

__all__ = ["METADATA", "batches", "caretables", "occurrences", "replaytables", "schedulerows"]

METADATA: Final[MetaData] = schema.METADATA
