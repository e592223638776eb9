"""What is new in the archive since it was last told, and what was told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, desc, func, select, update

from notify.store.caretables import DIGESTS
from notify.store.engine import INSERTS, Database
from notify.store.rows import OPEN, instant, micros
from notify.store.schema import DEAD_LETTERS

_CODES: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """Letters archived before some time, which all up to ``last_seq`` were: counts by (reason,
    channel, provider), and the codes that came most, by (channel, provider, code)."""

    last_seq: int
    counts: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    codes: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    still_open: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    """What was told, or is to be: the same text whoever publishes it."""

    name: str
    since: datetime
    until: datetime
    last_seq: int
    content: Mapping[str, Any]
    published_at: datetime | None = None


def news(database: Database, after: int, until: datetime) -> News:
    """Of the letters numbered beyond ``after`` that were archived before ``until``.

    Several programs may archive at that moment, not in the order of the numbers: then some of
    the last letters are told the next time too, and none is left out.
    """
    letters = DEAD_LETTERS.c
    new = (letters.seq > after, letters.archived_at < micros(until))
    keys = [letters.reason, letters.channel, letters.provider]
    codes = [letters.channel, letters.provider, letters.code]
    with database.reading() as connection:
        still = select(func.count()).where(*new, func.coalesce(letters.state, "") == OPEN)
        return News(
            last_seq=_last_before(connection, after, until),
            counts=_counted(connection, keys, new),
            codes=_counted(connection, codes, (*new, letters.code.is_not(None)), _CODES),
            still_open=connection.execute(still).scalar_one(),
        )


def _counted(
    connection: Connection, keys: list[Any], conditions: tuple[Any, ...], limit: int | None = None
) -> dict[tuple[str, str, str], int]:
    count = func.count().label("number")
    query = select(*keys, count).where(*conditions).group_by(*keys).order_by(desc(count), *keys)
    found = connection.execute(query.limit(limit)).all()
    return {(row[0] or "", row[1] or "", row[2] or ""): row[3] for row in found}


def last_before(database: Database, time: datetime) -> int:
    """Up to which number all letters were archived before then; reads all of them."""
    with database.reading() as connection:
        return _last_before(connection, 0, time)


def _last_before(connection: Connection, after: int, time: datetime) -> int:
    letters = DEAD_LETTERS.c
    later = select(func.min(letters.seq))
    later = later.where(letters.seq > after, letters.archived_at >= micros(time))
    first = connection.execute(later).scalar()
    if first is not None:
        return int(first) - 1
    last = select(func.max(letters.seq)).where(letters.seq > after)
    return int(connection.execute(last).scalar() or after)


def last_digest(database: Database, now: datetime) -> Digest | None:
    """The one before, published or not. One of the future is that of a clock that was wrong."""
    query = select(DIGESTS).where(DIGESTS.c.until <= micros(now))
    query = query.order_by(DIGESTS.c.until.desc(), DIGESTS.c.name.desc()).limit(1)
    with database.reading() as connection:
        row = connection.execute(query).one_or_none()
    return _read(row._asdict()) if row else None


def write_digest(database: Database, digest: Digest) -> Digest:
    """Writes it down, or returns the one that has its name already."""
    values = {
        "name": digest.name,
        "since": micros(digest.since),
        "until": micros(digest.until),
        "last_seq": digest.last_seq,
        "content": json.dumps(dict(digest.content)),
        "published_at": micros(digest.published_at),
    }
    with database.writing() as connection:
        new = INSERTS[database.dialect](DIGESTS).on_conflict_do_nothing()
        connection.execute(new.values(values))
        query = select(DIGESTS).where(DIGESTS.c.name == digest.name)
        return _read(connection.execute(query).one()._asdict())


def note_published(database: Database, name: str) -> None:
    """RabbitMQ has it."""
    change = update(DIGESTS).where(DIGESTS.c.name == name)
    with database.writing() as connection:
        connection.execute(change.values(published_at=micros(datetime.now(UTC))))


def _read(row: Mapping[str, Any]) -> Digest:
    times = {name: instant(row[name]) for name in ("since", "until", "published_at")}
    return Digest(**dict(row) | times | {"content": json.loads(row["content"])})
