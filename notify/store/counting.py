"""How many dead letters there are of each kind."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Select, desc, func, select

from notify.errors import NotFound
from notify.store.facets import label_pair
from notify.store.filters import Filter, matching
from notify.store.schema import DEAD_LETTERS, LABELS

COUNTABLE: Final = (
    *("reason", "provider", "channel", "code", "template", "batch", "schedule", "state"),
    "priority",
)
SPANS: Final = {"day": 86_400, "hour": 3_600}
LABEL: Final = "label."
_MICROS: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def count_by(connection: Connection, field: str, wanted: Filter) -> dict[str, int]:
    """The most first, days and hours in their order; "" where there is no value."""
    if field in SPANS:
        return _by_time(connection, SPANS[field], wanted)
    if field.startswith(LABEL):
        return _by_label(connection, field.removeprefix(LABEL), wanted)
    if field not in COUNTABLE:
        known = ", ".join((*COUNTABLE, *SPANS, f"{LABEL}NAME"))
        raise NotFound(f"{field}: must be one of {known}")
    column = DEAD_LETTERS.c[field]
    found = connection.execute(_most_first(_grouped(wanted, column)))
    return {value or "": number for value, number in found}


def _grouped(wanted: Filter, key: Any) -> Select[Any]:
    return matching(wanted, key.label("key"), func.count().label("number")).group_by("key")


def _most_first(query: Select[Any]) -> Select[Any]:
    return query.order_by(desc("number"), "key")


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
    counted = LABELS.alias("counted")
    same = (counted.c.dead_seq == DEAD_LETTERS.c.seq) & (counted.c.name == name)
    value = select(counted.c.value).where(same).limit(1).scalar_subquery()
    found = connection.execute(_most_first(_grouped(wanted, value)))
    return {key or "": number for key, number in found}
