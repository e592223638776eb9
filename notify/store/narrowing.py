"""Where a search begins: with the condition that leaves the least to look at."""

from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from notify.store.filters import Filter, beginnings, entries

# What has more is not narrow. So many entries of an index are counted in a millisecond.
_MANY: Final = 5000


def narrowest(connection: Connection, wanted: Filter) -> Filter:
    """The same filter, with what to begin with; its labels have the rarest first."""
    found = list(beginnings(wanted))
    if wanted.begin or "id" in found or len(found) + len(wanted.labels[1:]) < 2:
        return wanted
    sizes = {name: _size(connection, entries(wanted, name)) for name in found if name != "labels"}
    if wanted.labels:
        by_size = {
            each: _size(connection, entries(wanted, "labels", each)) for each in wanted.labels
        }
        wanted = replace(wanted, labels=tuple(sorted(by_size, key=by_size.__getitem__)))
        sizes["labels"] = min(by_size.values())
    # Of those that have many, the one that has the fewest as a rule.
    return replace(wanted, begin=min(found, key=sizes.__getitem__))


def _size(connection: Connection, query: Select[Any]) -> int:
    some = query.limit(_MANY).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())
