"""Which dead letters are meant, and the query that finds them by one index.

SQLite knows nothing of how often a value occurs, so the query tells it where to begin: with the
narrowest of the conditions, see ``narrowest``. The others are written so that no index fits them.
PostgreSQL gets the same: it has its statistics, but trusts them where a list is short.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    exists,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from notify.notification import CHANNELS
from notify.spelling import digest
from notify.store.facets import clean, label_pair
from notify.store.rows import micros
from notify.store.schema import DEAD_LETTERS, LABELS

# What a search can begin with, the narrowest first as a rule; channel and reason have an index
# together.
BEGINNINGS: Final = {
    "id": ("id",),
    "recipient": ("recipient",),
    "labels": ("labels",),
    **{name: (name,) for name in ("batch", "schedule", "template", "code")},
    "channel, reason": ("channel", "reason"),
    **{name: (name,) for name in ("provider", "state")},
}
_EQUAL: Final = (
    *("id", "batch", "schedule", "template", "code", "channel", "reason", "provider", "state"),
)
_MOST: Final = 2**63 - 1


class _Position(FunctionElement[int]):
    """Where in a text another one stands, 0 for nowhere; LIKE has limits that a text has not."""

    inherit_cache = True
    type = Integer()


@compiles(_Position)
def _on_sqlite(element: _Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


@compiles(_Position, "postgresql")
def _on_postgresql(element: _Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Dead letters that match all of what is given; ``since`` <= dead_at < ``until``.

    An empty value means: without one. ``recipient`` matches however it is written; ``labels`` are
    names and values, all of which a letter must have. ``text`` stands somewhere in subject, body,
    data or detail, in capital or small letters, within a word too: every letter that matches the
    rest is looked at. ``begin``, one of ``BEGINNINGS``, is where the search begins; it is found
    out where it is not given. The others concern lists only: ``limit`` and ``offset``, or
    ``after``, the number of the last letter of the page before; ``oldest`` first.
    """

    channel: str | None = None
    reason: str | None = None
    provider: str | None = None
    id: str | None = None
    recipient: str | None = None
    state: str | None = None
    code: str | None = None
    schedule: str | None = None
    batch: str | None = None
    template: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    begin: str | None = None
    limit: int | None = 50
    offset: int = 0
    after: int | None = None
    oldest: bool = False


def matching(wanted: Filter, *columns: Any) -> Select[Any]:
    """A query for these columns of the letters that are meant."""
    query = select(*columns).select_from(_source(wanted))
    return query.where(*_equal(wanted), *within(wanted, _place(wanted)[0]), *_found(wanted))


def in_order(query: Select[Any], wanted: Filter) -> Select[Any]:
    when, seq = _place(wanted)
    if wanted.oldest:
        return query.order_by(when, seq)
    return query.order_by(when.desc(), seq.desc())


def on_page(query: Select[Any], wanted: Filter) -> Select[Any]:
    """What of the list is shown."""
    query = query.limit(wanted.limit)
    return query.offset(min(wanted.offset, _MOST)) if wanted.offset else query


def beyond(wanted: Filter, dead_at: int, seq: int) -> ColumnElement[bool]:
    """What comes after this letter in the order of the list."""
    when, number = _place(wanted)
    if wanted.oldest:
        return and_(when >= dead_at, or_(when > dead_at, number > seq))
    return and_(when <= dead_at, or_(when < dead_at, number < seq))


def beginnings(wanted: Filter) -> Iterator[str]:
    """With what this search can begin."""
    for name, fields in BEGINNINGS.items():
        if any(getattr(wanted, field) for field in fields):
            yield name


def is_by_time_alone(wanted: Filter) -> bool:
    """Whether letters are meant whatever they are; those without a value are something too."""
    return not (_equal(wanted) or _found(wanted))


def entries(wanted: Filter, begin: str, label: tuple[str, str] | None = None) -> Select[Any]:
    """What a search would look at that began so, with this one of the labels."""
    if label is not None:
        query = select(LABELS.c.dead_seq).where(*_is_label(LABELS, label))
        return query.where(*within(wanted, LABELS.c.dead_at))
    letters = DEAD_LETTERS.c
    query = select(letters.dead_at).where(*within(wanted, letters.dead_at))
    if begin == "recipient":
        return query.where(letters.recipient_key.in_(_keys(wanted.recipient or "")))
    given = {name: getattr(wanted, name) for name in BEGINNINGS[begin]}
    return query.where(*(letters[name] == clean(each) for name, each in given.items() if each))


def _begin(wanted: Filter) -> str:
    return wanted.begin or next(beginnings(wanted), "")


def _source(wanted: Filter) -> FromClause:
    if _begin(wanted) != "labels":
        return DEAD_LETTERS
    return LABELS.join(DEAD_LETTERS, LABELS.c.dead_seq == DEAD_LETTERS.c.seq)


def _place(wanted: Filter) -> tuple[ColumnElement[int], ColumnElement[int]]:
    if _begin(wanted) == "labels":
        return LABELS.c.dead_at, LABELS.c.dead_seq
    return DEAD_LETTERS.c.dead_at, DEAD_LETTERS.c.seq


def _equal(wanted: Filter) -> list[ColumnElement[bool]]:
    begin = BEGINNINGS.get(_begin(wanted), ())
    return [
        (DEAD_LETTERS.c[name] if value and name in begin else _without_index(name)) == clean(value)
        for name in _EQUAL
        if (value := getattr(wanted, name)) is not None
    ]


def _without_index(name: str) -> ColumnElement[Any]:
    return func.coalesce(DEAD_LETTERS.c[name], "")


def within(wanted: Filter, when: ColumnElement[int]) -> list[ColumnElement[bool]]:
    found = []
    if wanted.since is not None:
        found.append(when >= micros(wanted.since))
    if wanted.until is not None:
        found.append(when < micros(wanted.until))
    return found


def _found(wanted: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.recipient is not None:
        key = DEAD_LETTERS.c.recipient_key
        first = _begin(wanted) == "recipient"
        found.append((key if first else func.coalesce(key, "")).in_(_keys(wanted.recipient)))
    if wanted.labels:
        found += _labelled(wanted)
    if wanted.text:
        text = clean(wanted.text.casefold())
        found.append(_Position(DEAD_LETTERS.c.words, literal(text, Text)) > 0)
    return found


def _labelled(wanted: Filter) -> Iterator[ColumnElement[bool]]:
    """The first label is where the search begins, if it begins with labels."""
    rest = wanted.labels
    if _begin(wanted) == "labels":
        yield from _is_label(LABELS, rest[0])
        rest = rest[1:]
    for label in rest:
        other, letters = LABELS.alias(), DEAD_LETTERS.c
        same = (other.c.dead_seq == letters.seq, other.c.dead_at == letters.dead_at)
        yield exists().where(*_is_label(other, label), *same)


def _is_label(table: FromClause, label: tuple[str, str]) -> tuple[ColumnElement[bool], ...]:
    name, value = label_pair(*label)
    return table.c.name == name, table.c.value == value


def _keys(recipient: str) -> list[str]:
    """What stands for it in each of the channels, and where the channel is not known; for none
    at all, no key too."""
    found = [digest(channel, recipient) for channel in ("", *CHANNELS)]
    return found if recipient else ["", *found]
