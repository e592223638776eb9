"""Replays of dead letters: who sent which again, when, with which changes, and what came of it.

The letters of a run are fixed when it begins. Before a letter goes it is *taken*: the run
notes which generation of its id it becomes, and no other run can note the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    bindparam,
    cast,
    func,
    insert,
    literal,
    select,
    update,
)

from notify.errors import NotFound
from notify.store.batches import BATCHES, PAUSED, RUNNING, Batch, insert_batch
from notify.store.filters import Filter, in_order, matching
from notify.store.narrowing import narrowest
from notify.store.part import Part
from notify.store.replayrows import (
    SENT,
    ReplayLetter,
    ReplayRun,
    read_letter,
    read_run,
    run_row,
)
from notify.store.replaytables import REPLAY_LETTERS, REPLAY_RUNS
from notify.store.rows import REPLAYED, ArchivedLetter, clean, from_row, micros
from notify.store.schema import DEAD_LETTERS
from notify.store.taking import Lost, Taken, Wish, answers_to

_LOCK: Final = 0x6E6F7471  # any number that is only ours
_PAGE: Final = 500


class Replays(Part):
    """The replays at an SQLAlchemy URL. Every method raises ``StoreUnavailable``."""

    def begin(
        self,
        run: ReplayRun,
        batch: Batch,
        wanted: Filter | Sequence[int],
        at_most: int | None = None,
    ) -> int:
        """Notes a run, its letters, oldest first, and its batch: all or nothing.

        Returns how many letters it has. Raises ``NotFound`` where there are none.
        """
        with self._database.writing() as connection:
            connection.execute(insert(REPLAY_RUNS).values(run_row(run)))
            if isinstance(wanted, Filter):
                wanted = narrowest(connection, wanted)
            names = ["run", "number", "dead_seq", "id", "note"]
            chosen = _chosen(run.name, wanted, at_most)
            connection.execute(insert(REPLAY_LETTERS).from_select(names, chosen))
            columns = REPLAY_LETTERS.c
            query = select(func.count()).where(columns.run == run.name)
            total = int(connection.execute(query).scalar_one())
            if not total:
                raise NotFound("no dead letter matches")
            insert_batch(connection, replace(batch, total=total))
        return total

    def get(self, name: str) -> ReplayRun | None:
        query = select(REPLAY_RUNS).where(REPLAY_RUNS.c.name == name)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return read_run(row._asdict()) if row else None

    def latest(self, limit: int) -> list[ReplayRun]:
        columns = REPLAY_RUNS.c
        query = select(REPLAY_RUNS).order_by(columns.at.desc(), columns.name).limit(limit)
        with self._database.reading() as connection:
            return [read_run(row._asdict()) for row in connection.execute(query)]

    def letters(self, run: str, after: int = 0, limit: int = _PAGE) -> list[ReplayLetter]:
        """In order; those with a number above ``after``."""
        columns = REPLAY_LETTERS.c
        query = _letters().where(columns.run == run, columns.number > after)
        return self._found(query.order_by(columns.number).limit(limit))

    def open_letters(self, run: str, limit: int = _PAGE) -> list[ReplayLetter]:
        """Those that were taken and of which no result is known."""
        columns = REPLAY_LETTERS.c
        query = _letters().where(columns.run == run, columns.generation.is_not(None))
        query = query.where(columns.result.is_(None)).order_by(columns.number)
        return self._found(query.limit(limit))

    def of_letter(self, seq: int) -> list[ReplayLetter]:
        """What the runs made of one dead letter, the first run first."""
        query = _letters().join(REPLAY_RUNS, REPLAY_RUNS.c.name == REPLAY_LETTERS.c.run)
        query = query.where(REPLAY_LETTERS.c.dead_seq == seq)
        return self._found(query.order_by(REPLAY_RUNS.c.at, REPLAY_LETTERS.c.number))

    def maker(self, id: str, generation: int) -> ReplayLetter | None:
        """The letter that became this generation of an id."""
        columns = REPLAY_LETTERS.c
        found = self._found(_letters().where(columns.id == id, columns.generation == generation))
        return found[0] if found else None

    def makers(self, ids: Iterable[str]) -> dict[str, list[ReplayLetter]]:
        """All that became a generation of these ids."""
        with self._database.reading() as connection:
            return _makers(connection, list(ids))

    def archived(self, seqs: Iterable[int]) -> dict[int, ArchivedLetter]:
        """The dead letters with these numbers, by number, the oldest first."""
        columns = DEAD_LETTERS.c
        query = select(DEAD_LETTERS).where(columns.seq.in_(list(seqs)))
        query = query.order_by(columns.dead_at, columns.seq)
        with self._database.reading() as connection:
            return {row.seq: from_row(row._asdict()) for row in connection.execute(query)}

    def generations(self, ids: Iterable[str]) -> dict[str, int]:
        """The highest generation of each id in the archive."""
        columns = DEAD_LETTERS.c
        highest = func.max(columns.generation).label("highest")
        query = select(columns.id, highest).where(columns.id.in_(list(ids)))
        with self._database.reading() as connection:
            found = connection.execute(query.group_by(columns.id))
            return {row.id: row.highest for row in found}

    def waiting_in(self, seqs: Iterable[int]) -> dict[int, list[str]]:
        """The runs that are not over, for each of these letters that waits in one."""
        columns = REPLAY_LETTERS.c
        query = select(columns.dead_seq, columns.run)
        query = query.join(BATCHES, BATCHES.c.name == columns.run)
        query = query.where(columns.dead_seq.in_(list(seqs)), columns.result.is_(None))
        query = query.where(BATCHES.c.state.in_((RUNNING, PAUSED)))
        found: dict[int, list[str]] = {}
        with self._database.reading() as connection:
            for seq, run in connection.execute(query):
                found.setdefault(seq, []).append(run)
        return found

    def take(self, run: str, wishes: Sequence[Wish]) -> dict[int, Taken | Lost]:
        """Takes letters for a run, each unless another has it; by number. A second time
        changes nothing."""
        with self._database.writing() as connection:
            if self._database.dialect == "postgresql":
                connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            answers = answers_to(run, wishes, _makers(connection, [wish.id for wish in wishes]))
            now = micros(datetime.now(UTC))
            new = [
                {"at_number": number, "generation": answer.generation, "at": now}
                for number, answer in answers.items()
                if isinstance(answer, Taken) and not answer.before
            ]
            if new:
                names = ("generation", "at")
                change = _one(run).values({name: bindparam(name) for name in names})
                connection.execute(change, new)
        return answers

    def note(self, letters: Sequence[ReplayLetter]) -> None:
        """What came of some letters of a run, with their generations; what was sent stays so."""
        if not letters:
            return
        names = ("generation", "result", "other", "note")
        now = micros(datetime.now(UTC))
        changes = [
            {name: getattr(each, name) for name in names}
            | {"at_number": each.number, "at": now, "note": clean(each.note)}
            for each in letters
        ]
        seqs = [{"at_seq": each.dead_seq} for each in letters if each.result == SENT]
        values: dict[str, Any] = {name: bindparam(name) for name in (*names, "at")}
        sent = update(DEAD_LETTERS).where(DEAD_LETTERS.c.seq == bindparam("at_seq"))
        change = _one(letters[0].run).where(REPLAY_LETTERS.c.result.is_distinct_from(SENT))
        with self._database.writing() as connection:
            connection.execute(change.values(values), changes)
            if seqs:
                connection.execute(sent.values(state=REPLAYED), seqs)

    def leave_out_rest(self, run: str, result: str, note: str) -> None:
        """What was not taken of a run that ends early."""
        columns = REPLAY_LETTERS.c
        change = update(REPLAY_LETTERS).where(columns.run == run, columns.result.is_(None))
        change = change.where(columns.generation.is_(None))
        with self._database.writing() as connection:
            now = micros(datetime.now(UTC))
            connection.execute(change.values(result=result, note=note, at=now))

    def counts(self, run: str) -> dict[str, int]:
        """Letters by result, "" where there is none yet; the most first."""
        return self._counted(run, func.coalesce(REPLAY_LETTERS.c.result, ""))

    def others(self, run: str) -> dict[str, int]:
        """How many letters which other run had taken, the most first."""
        columns = REPLAY_LETTERS.c
        return self._counted(run, columns.other, columns.other.is_not(None))

    def forget(self, run: str) -> None:
        """Keeps nothing of a corrected recipient or text but what people are shown."""
        change = update(REPLAY_RUNS).where(REPLAY_RUNS.c.name == run)
        with self._database.writing() as connection:
            connection.execute(change.values(content=None))

    def _counted(self, run: str, value: Any, *conditions: Any) -> dict[str, int]:
        count = func.count().label("number")
        query = select(value.label("value"), count).where(REPLAY_LETTERS.c.run == run, *conditions)
        query = query.group_by("value").order_by(count.desc(), "value")
        with self._database.reading() as connection:
            return {row.value: row.number for row in connection.execute(query)}

    def _found(self, query: Select[Any]) -> list[ReplayLetter]:
        with self._database.reading() as connection:
            return [read_letter(row._asdict()) for row in connection.execute(query)]


def _letters() -> Select[Any]:
    return select(*REPLAY_LETTERS.c).select_from(REPLAY_LETTERS)


def _chosen(run: str, wanted: Filter | Sequence[int], at_most: int | None) -> Select[Any]:
    """The rows of the letters that a run begins with."""
    letters = DEAD_LETTERS.c
    columns: tuple[Any, ...] = (letters.seq, letters.id, letters.dead_at)
    if isinstance(wanted, Filter):
        oldest = replace(wanted, oldest=True, limit=None, offset=0, after=None)
        query = in_order(matching(oldest, *columns), oldest)
    else:
        query = select(*columns).where(letters.seq.in_(wanted))
        query = query.order_by(letters.dead_at, letters.seq)
    found = query.limit(at_most).subquery()
    number = func.row_number().over(order_by=(found.c.dead_at, found.c.seq))
    return select(
        literal(run), cast(number, BigInteger), found.c.seq, found.c.id, literal("")
    ).order_by(found.c.dead_at, found.c.seq)


def _one(run: str) -> Any:
    columns = REPLAY_LETTERS.c
    return update(REPLAY_LETTERS).where(
        columns.run == run, columns.number == bindparam("at_number")
    )


def _makers(connection: Connection, ids: list[str]) -> dict[str, list[ReplayLetter]]:
    columns = REPLAY_LETTERS.c
    query = _letters().where(columns.id.in_(ids), columns.generation.is_not(None))
    found: dict[str, list[ReplayLetter]] = {}
    for row in connection.execute(query):
        letter = read_letter(row._asdict())
        found.setdefault(letter.id or "", []).append(letter)
    return found
