"""The schemas of the archive, one after the other.

To add one, write ``v<N>_<what>.py`` with ``revision = "<N>"``, ``down_revision = "<N-1>"`` and an
``upgrade()`` that says what to create or change in words of its own, never by importing tables,
which will have changed by the next schema; the highest number without a gap is the newest, and
nothing else need be told. Declare the same tables on ``notify.store.schema.METADATA`` in a module
that ``notify.store.tables`` imports: a test compares both, on each of the databases.
"""

__all__: list[str] = []
