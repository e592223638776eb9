"""Taking one person out of the archive: what is theirs, what mentions them, and the proof.

A letter that is erased stays as a stub for statistics: channel, reason, provider, code, template,
batch, schedule and times. Its identity stays too, which is a digest: a copy of the letter that
comes once more is recognised, and does not bring the person back.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, select, update

from notify.recipients import RECIPIENT_CHECKS
from notify.spelling import digest
from notify.store.engine import Database
from notify.store.replaytables import REPLAY_LETTERS, REPLAY_RUNS
from notify.store.rows import ArchivedLetter, from_row
from notify.store.schema import DEAD_LETTERS, LABELS, REPLAYS

ERASED: Final = "erased"
_PAGE: Final = 500
_BATCH: Final = 100
_TEXTS: Final = (
    *("id", "recipient", "detail", "notification", "attempts", "labels", "headers", "trace"),
)
_KEPT_OF_ATTEMPTS: Final = ("generation", "attempt", "at", "provider", "outcome", "reason", "ms")
_CODE: Final = re.compile(r"[A-Za-z_]{0,32}[0-9]{0,6}(?:\.[0-9]{1,3}){0,2}")
# With a letter, so that a number is none.
_NAME: Final = re.compile(r"(?=.*[A-Za-z])[\w.\-]{1,96}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9T:.+Z\-]{6,40}")
_NAMES: Final = ("channel", "priority", "provider", "template", "batch", "schedule")
_EMPTY: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("id", "digest", "recipient", "recipient_key", "notification", "raw", "trace")),
    **dict.fromkeys(("words",)),
    "labels": "{}",
    "headers": "{}",
    "detail": "",
    "state": ERASED,
}

Names = Callable[[str], bool]
"""Whether a text names the person."""


def letters_of(database: Database, keys: Sequence[str]) -> Iterator[ArchivedLetter]:
    """Whose recipient they are, the earliest first."""
    columns = DEAD_LETTERS.c
    query = select(DEAD_LETTERS).where(columns.recipient_key.in_(keys)).order_by(columns.seq)
    after = 0
    while True:
        with database.reading() as connection:
            rows = connection.execute(query.where(columns.seq > after).limit(_PAGE)).all()
        yield from (from_row(row._asdict()) for row in rows)
        if len(rows) < _PAGE:
            return
        after = rows[-1].seq


def mentions(
    database: Database, keys: Sequence[str], names: Names
) -> Iterator[tuple[int, str | None, bool]]:
    """Other letters that name them: number, id, and whether it is theirs nevertheless: to them,
    written as no recipient is, or a message that could not be understood.

    Reads the whole archive, a page at a time.
    """
    columns = DEAD_LETTERS.c
    others = (columns.recipient_key, columns.raw)
    query = select(columns.seq, *others, *(columns[name] for name in _TEXTS))
    query = query.order_by(columns.seq).limit(_PAGE)
    after = 0
    while True:
        with database.reading() as connection:
            rows = connection.execute(query.where(columns.seq > after)).all()
        for row in rows:
            if row.recipient_key not in keys and _named(row, names):
                yield row.seq, row.id, _is_theirs(row, keys, names)
        if len(rows) < _PAGE:
            return
        after = rows[-1].seq


def _is_theirs(row: Row[Any], keys: Sequence[str], names: Names) -> bool:
    """What somebody else could get is that one's, however much of the name is part of theirs."""
    recipient = (row.recipient or "").strip()
    if any(problem(recipient) is None for problem in RECIPIENT_CHECKS.values()):
        return any(digest(channel, recipient) in keys for channel in RECIPIENT_CHECKS)
    return row.notification is None or names(recipient)


def _named(row: Row[Any], names: Names) -> bool:
    values = row._asdict()
    texts = [plain(values[name]) for name in _TEXTS if values[name]]
    if row.raw is not None:
        texts.append(plain(row.raw.decode("utf-8", "replace")))
    return names("\n".join(texts))


def plain(text: str) -> str:
    """JSON as it reads: what is not ASCII is written as escapes in it."""
    if "\\" not in text:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def erase(database: Database, seqs: Sequence[int]) -> int:
    """Makes stubs of these letters, in short transactions; returns how many."""
    total = 0
    for start in range(0, len(seqs), _BATCH):
        some = list(seqs[start : start + _BATCH])
        with database.writing() as connection:
            total += _erase(connection, some)
    return total


def _erase(connection: Connection, seqs: list[int]) -> int:
    """Replays first, as whoever notes their results does: so no two wait for each other."""
    mine = REPLAY_LETTERS.c.dead_seq.in_(seqs)
    runs = select(REPLAY_LETTERS.c.run).where(mine)
    connection.execute(update(REPLAY_LETTERS).where(mine).values(id=None, note=""))
    edited = update(REPLAY_RUNS).where(REPLAY_RUNS.c.name.in_(runs))
    connection.execute(edited.values(content=None))
    columns = DEAD_LETTERS.c
    names = [columns[name] for name in _NAMES]
    query = select(columns.seq, columns.attempts, columns.code, *names)
    found = connection.execute(query.where(columns.seq.in_(seqs)).with_for_update()).all()
    for row in found:
        values = {name: named(getattr(row, name)) for name in _NAMES}
        values["attempts"] = json.dumps(stripped(json.loads(row.attempts)))
        values["code"] = safe(row.code)
        change = update(DEAD_LETTERS).where(columns.seq == row.seq)
        connection.execute(change.values({**_EMPTY, **values}))
    connection.execute(delete(LABELS).where(LABELS.c.dead_seq.in_(seqs)))
    notes = update(REPLAYS).where(REPLAYS.c.dead_seq.in_(seqs))
    connection.execute(notes.values(note=""))
    return len(found)


def stripped(attempts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Without what a provider said, which may quote the recipient or the text."""
    found = []
    for attempt in attempts:
        kept = {name: attempt[name] for name in _KEPT_OF_ATTEMPTS if _plain(attempt.get(name))}
        found.append(kept | {"detail": "", "code": safe(attempt.get("code")) or ""})
    return found


def _plain(value: Any) -> bool:
    return isinstance(value, int) or named(value) is not None or _is_time(value)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def named(value: Any) -> str | None:
    """A name as ours are; strangers may have put anything there."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def safe(code: Any) -> str | None:
    """A code that can be nothing else."""
    return code if isinstance(code, str) and code and _CODE.fullmatch(code) else None
