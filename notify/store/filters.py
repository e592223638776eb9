"""Which dead letters are meant, and the query that finds them by one index.

SQLite knows nothing of how often a value occurs, so the query tells it where to begin: with the
narrowest of the conditions. The others are written so that no index fits them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, and_, func, or_, select

from notify.notification import CHANNELS
from notify.spelling import digest
from notify.store.facets import clean, label_pair
from notify.store.rows import micros
from notify.store.schema import DEAD_LETTERS, LABELS

# The narrowest first; channel and reason have an index together.
_DRIVERS: Final = (
    *(("id",), ("recipient",), ("label",), ("batch",), ("schedule",), ("template",), ("code",)),
    *(("channel", "reason"), ("provider",), ("state",)),
)
_EQUAL: Final = (
    *("id", "batch", "schedule", "template", "code", "channel", "reason", "provider", "state"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Dead letters that match all of what is given; ``since`` <= dead_at < ``until``.

    An empty value means: without one. ``recipient`` matches however it is written; ``label`` is
    a name and a value. ``text`` stands somewhere in subject, body, data or detail, in capital or
    small letters: every letter that matches the rest is looked at. The others concern lists
    only: ``limit`` and ``offset``, or ``after``, the number of the last letter of the page
    before; ``oldest`` first.
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
    label: tuple[str, str] | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = 50
    offset: int = 0
    after: int | None = None
    oldest: bool = False


def matching(wanted: Filter, *columns: Any) -> Select[Any]:
    """A query for these columns of the letters that are meant."""
    query = select(*columns).select_from(_source(wanted))
    return query.where(*_equal(wanted), *_times(wanted), *_found(wanted))


def in_order(query: Select[Any], wanted: Filter) -> Select[Any]:
    when, seq = _place(wanted)
    if wanted.oldest:
        return query.order_by(when, seq)
    return query.order_by(when.desc(), seq.desc())


def beyond(wanted: Filter, dead_at: int, seq: int) -> ColumnElement[bool]:
    """What comes after this letter in the order of the list."""
    when, number = _place(wanted)
    if wanted.oldest:
        return and_(when >= dead_at, or_(when > dead_at, number > seq))
    return and_(when <= dead_at, or_(when < dead_at, number < seq))


def _driver(wanted: Filter) -> tuple[str, ...]:
    given = (names for names in _DRIVERS if any(getattr(wanted, name) for name in names))
    return next(given, ())


def _by_label(wanted: Filter) -> bool:
    return _driver(wanted) == ("label",)


def _source(wanted: Filter) -> FromClause:
    if wanted.label is None:
        return DEAD_LETTERS
    columns = DEAD_LETTERS.c
    same = and_(LABELS.c.dead_seq == columns.seq, LABELS.c.dead_at == columns.dead_at)
    return LABELS.join(DEAD_LETTERS, same)


def _place(wanted: Filter) -> tuple[ColumnElement[int], ColumnElement[int]]:
    if _by_label(wanted):
        return LABELS.c.dead_at, LABELS.c.dead_seq
    return DEAD_LETTERS.c.dead_at, DEAD_LETTERS.c.seq


def _equal(wanted: Filter) -> list[ColumnElement[bool]]:
    driver = _driver(wanted)
    return [
        (DEAD_LETTERS.c[name] if value and name in driver else _without_index(name)) == value
        for name in _EQUAL
        if (value := getattr(wanted, name)) is not None
    ]


def _without_index(name: str) -> ColumnElement[Any]:
    return func.coalesce(DEAD_LETTERS.c[name], "")


def _times(wanted: Filter) -> list[ColumnElement[bool]]:
    when, _ = _place(wanted)
    found = []
    if wanted.since is not None:
        found.append(when >= micros(wanted.since))
    if wanted.until is not None:
        found.append(when < micros(wanted.until))
    return found


def _found(wanted: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.recipient is not None:
        found.append(DEAD_LETTERS.c.recipient_key.in_(_keys(wanted.recipient)))
    if wanted.label is not None:
        name, value = label_pair(*wanted.label)
        found += [LABELS.c.name == name, LABELS.c.value == value]
    if wanted.text:
        text = clean(wanted.text.casefold())
        found.append(DEAD_LETTERS.c.words.contains(text, autoescape=True))
    return found


def _keys(recipient: str) -> list[str]:
    """What stands for it in each of the channels, and where the channel is not known."""
    return [digest(channel, recipient) for channel in ("", *CHANNELS)]
