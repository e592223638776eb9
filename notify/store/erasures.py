"""That somebody was erased: known to who can name them, and to nobody who only has the archive.

The proof is a digest that takes a while to compute (scrypt) with a key of this archive: who has
the archive can try a number in a tenth of a second, and would need decades for all of them.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import insert, select

from notify.store.caretables import ERASURES, STATE
from notify.store.engine import INSERTS, Database
from notify.store.rows import clean, instant, micros

_KEY: Final = "erasure-key"
_COST: Final = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 26, "dklen": 32}


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """When, by whom, and how many letters; ``details`` are counts by place."""

    at: datetime
    actor: str
    letters: int
    details: Mapping[str, Any] = field(default_factory=dict)


def note_erasure(
    database: Database, person: str, actor: str, letters: int, details: Mapping[str, int]
) -> None:
    """``person`` stands for channel and recipient; it is not stored."""
    values = {
        "at": micros(datetime.now(UTC)),
        "actor": clean(actor),
        "proof": _proof(database, person),
        "letters": letters,
        "details": json.dumps(dict(details), sort_keys=True),
    }
    with database.writing() as connection:
        connection.execute(insert(ERASURES).values(values))


def erasures_of(database: Database, person: str) -> list[Erasure]:
    """The latest first."""
    return _found(database, 1000, _proof(database, person))


def latest_erasures(database: Database, limit: int) -> list[Erasure]:
    return _found(database, limit, None)


def _found(database: Database, limit: int, proof: str | None) -> list[Erasure]:
    query = select(ERASURES).order_by(ERASURES.c.seq.desc()).limit(limit)
    if proof is not None:
        query = query.where(ERASURES.c.proof == proof)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [
        Erasure(
            at=instant(row.at),
            actor=row.actor,
            letters=row.letters,
            details=json.loads(row.details),
        )
        for row in rows
    ]


def _proof(database: Database, person: str) -> str:
    key = bytes.fromhex(_key(database))
    return hashlib.scrypt(person.encode(errors="replace"), salt=key, **_COST).hex()


def _key(database: Database) -> str:
    """Made once for each archive."""
    query = select(STATE.c.value).where(STATE.c.name == _KEY)
    with database.reading() as connection:
        found = connection.execute(query).scalar()
    if found is not None:
        return str(found)
    with database.writing() as connection:
        values = {"name": _KEY, "value": secrets.token_hex(32), "at": 0}
        new = INSERTS[database.dialect](STATE).on_conflict_do_nothing()
        connection.execute(new.values(values))
        return str(connection.execute(query).scalar_one())
