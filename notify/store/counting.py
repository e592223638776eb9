"""How many dead letters there are of each kind."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Select, func, select

from notify.errors import NotFound
from notify.store.facets import label_pair
from notify.store.filters import Filter, beginnings, is_by_time_alone, matching, within
from notify.store.narrowing import narrowest
from notify.store.schema import DEAD_LETTERS, LABELS

COUNTABLE: Final = (
    *("reason", "provider", "channel", "code", "template", "batch", "schedule", "state"),
    "priority",
)
SPANS: Final = {"day": 86_400, "hour": 3_600}
LABEL: Final = "label."
SPARSE: Final = ("code", "template", "batch", "schedule")
_MICROS: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Found: TypeAlias = Sequence[Any]


def count_by(connection: Connection, field: str, wanted: Filter) -> dict[str, int]:
    """The most first, days and hours in their order; "" where there is no value."""
    if field not in (*COUNTABLE, *SPANS) and not field.startswith(LABEL):
        known = ", ".join((*COUNTABLE, *SPANS, f"{LABEL}NAME"))
        raise NotFound(f"{field}: must be one of {known}")
    wanted = narrowest(connection, wanted)
    if field in SPANS:
        return _by_time(connection, SPANS[field], wanted)
    if field.startswith(LABEL):
        return _by_label(connection, field.removeprefix(LABEL), wanted)
    return _by_value(connection, field, wanted)


def _by_value(connection: Connection, field: str, wanted: Filter) -> dict[str, int]:
    column = DEAD_LETTERS.c[field]
    query = _grouped(wanted, column)
    if field not in SPARSE or any(beginnings(wanted)):
        return _most_first(connection.execute(query).all())
    # The column's index has those with a value, and is enough to count them.
    found = connection.execute(query.where(column.is_not(None))).all()
    return _with_the_others(connection, found, wanted)


def _grouped(wanted: Filter, key: Any) -> Select[Any]:
    return matching(wanted, key.label("key"), func.count().label("number")).group_by("key")


def _with_the_others(connection: Connection, found: Found, wanted: Filter) -> dict[str, int]:
    total = connection.execute(matching(wanted, func.count())).scalar_one()
    without = total - sum(number for _, number in found)
    return _most_first([*found, ("", without)] if without > 0 else found)


def _most_first(found: Found) -> dict[str, int]:
    """Equal numbers by their values: in the order of characters, whatever the database's is."""
    counts: Counter[str] = Counter()
    for key, number in found:
        counts[key or ""] += number
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _by_time(connection: Connection, seconds: int, wanted: Filter) -> dict[str, int]:
    size = seconds * _MICROS
    # Times before 1970 do not occur in an archive.
    query = _grouped(wanted, DEAD_LETTERS.c.dead_at // size).order_by("key")
    style = "%Y-%m-%d" if seconds == SPANS["day"] else "%Y-%m-%d %H:00"
    found = connection.execute(query)
    return {
        (_EPOCH + timedelta(seconds=key * seconds)).strftime(style): number for key, number in found
    }


def _by_label(connection: Connection, name: str, wanted: Filter) -> dict[str, int]:
    """Those without the label too, as ""."""
    name, _ = label_pair(name, "")
    if is_by_time_alone(wanted):
        count = func.count().label("number")
        query = select(LABELS.c.value.label("key"), count).group_by("key")
        query = query.where(LABELS.c.name == name, *within(wanted, LABELS.c.dead_at))
    else:
        counted = LABELS.alias("counted")
        same = (counted.c.dead_seq == DEAD_LETTERS.c.seq) & (counted.c.name == name)
        query = _grouped(wanted, counted.c.value).where(same)
    return _with_the_others(connection, connection.execute(query).all(), wanted)
