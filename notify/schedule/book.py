"""The schedules in Redis, for whoever writes and reads them: the command line, files, a database.

How a change and the beat get along:

- Nothing is fired for the past: what is new, gets other times, or is resumed has its watermark at
  ``now``, and what is planned up to a watermark is over.
- A change takes nothing away that was due before it. With the same times and other content, it is
  fired with the new content. With other times, what the old ones still had to fire is written down
  as owed, and fired with the new content within the new misfire window. (If a beat publishes the
  old content in the same moment and dies before it has noted that, the id shows the two to be the
  same firing: the content that comes second is archived as a conflict, not delivered.)
- What is paused fires nothing, be it due already, and makes up for nothing when it is resumed.
- What was in quarantine keeps its watermark: released, it makes up for what its misfire window
  still allows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace as replaced
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from notify.config import Settings
from notify.errors import InvalidInput, NotFound, NotifyError
from notify.schedule.entries import Entry, Unusable, beat_app
from notify.schedule.fanout import Fanout, check_audience
from notify.schedule.instants import from_micros, to_micros
from notify.schedule.legacy import adopt_all
from notify.schedule.making import Made, by_hand, make, readable
from notify.schedule.shelf import Counts, Shelf, Written
from notify.schedule.spec import ScheduleSpec
from notify.schedule.stored import (
    QUARANTINED,
    Page,
    Put,
    Quarantined,
    Revision,
    Stored,
    state_of,
    stored,
)

SOONEST: Final = "soonest"
BY_NAME: Final = "name"
# Others change it at the same time: after so many tries somebody is told.
_TRIES: Final = 10
_MANY: Final = 500


class Book:
    """Thread-safe. Every method raises ``LedgerUnavailable`` without Redis; what is said about a
    change holds whatever others do at the same time. ``now`` is for tests."""

    def __init__(self, settings: Settings, *, fanout: Fanout | None = None) -> None:
        """``fanout`` is who sends to audiences; without one they are refused."""
        self._app = beat_app(settings)
        self._fanout = fanout
        self.shelf = Shelf(settings)

    def close(self) -> None:
        self.shelf.close()

    def put(
        self,
        spec: ScheduleSpec,
        *,
        replace: bool = False,
        now: datetime | None = None,
        watermark: datetime | None = None,
        paused: bool | None = None,
        revision: str = "",
    ) -> Stored:
        """Stores a schedule. With ``replace`` also one that is there already, otherwise not.

        It fires for nothing planned up to ``watermark``; without one, see above. ``paused`` has
        precedence over what the spec says. ``revision`` is kept beside it (default: the spec's).
        Raises ``InvalidInput`` for a name in use, and where nothing would ever be fired.
        """
        put = Put(spec=spec, watermark=watermark, paused=paused, revision=revision)
        return self._put(put, now or datetime.now(UTC), replace=replace)

    def put_many(self, puts: Iterable[Put], *, now: datetime | None = None) -> dict[str, str]:
        """Stores many, replacing what is there, in few round trips; names with why not."""
        problems: dict[str, str] = {}
        for some in _chunks(puts):
            problems |= self._put_some(some, now or datetime.now(UTC))
        return problems

    def get(self, name: str) -> Stored:
        """Raises ``NotFound``."""
        return self._existing(name)[1]

    def remove(self, name: str) -> None:
        """Also from quarantine. Raises ``NotFound``."""
        if not self.shelf.remove(name):
            raise _not_found(name)

    def pause(self, name: str, *, now: datetime | None = None) -> Stored:
        """Raises ``NotFound``, and ``InvalidInput`` for one in quarantine."""
        return self._rest(name, True, now)

    def resume(self, name: str, *, now: datetime | None = None) -> Stored:
        """The same; one that is not paused stays as it is."""
        return self._rest(name, False, now)

    def page(self, *, order: str = SOONEST, cursor: str = "", limit: int = 100) -> Page:
        """Up to ``limit`` schedules, "soonest" first or by "name".

        By name all of them are found; soonest first those in quarantine are left out, and what
        is paused or has ended comes last. While schedules fire, a page may repeat some.
        """
        if order == BY_NAME:
            names = self.shelf.by_name(cursor, limit)
            following = names[-1] if len(names) == limit else ""
        else:
            names, following = self.shelf.by_time(cursor, limit)
        return Page(items=tuple(self._look_at(names)), cursor=following)

    def revisions(self, *, after: str = "", limit: int = 1000) -> list[Revision]:
        """The schedules behind a name, by name, also those in quarantine."""
        names = self.shelf.by_name(after, limit)
        rows = zip(names, self.shelf.read(names, scores=True), strict=True)
        return [
            Revision(name=name, revision=row.r if row else "", state=state_of(row))
            for name, row in rows
        ]

    def count(self) -> Counts:
        """How many there are, without reading them."""
        return self.shelf.counts()

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names of what is due, soonest first."""
        return self.shelf.look(now.timestamp(), limit).names

    def quarantine(self, *, skip: int = 0, limit: int = 100) -> list[Quarantined]:
        """Those that are there longest first."""
        return [
            Quarantined(name=name, since=datetime.fromtimestamp(at, UTC), reason=why)
            for name, at, why in self.shelf.set_aside(skip, limit)
        ]

    def release(self, name: str) -> Stored:
        """Puts it back, once it can be read again. Raises ``NotFound`` where it is not in
        quarantine, and ``InvalidInput`` saying what is still wrong."""
        for _ in range(_TRIES):
            written, found = self._existing(name)
            if found.state != QUARANTINED:
                raise NotFound(f"there is no schedule {name!r} in quarantine")
            entry = self._entry(written)
            outcome = self.shelf.release(name, entry.written.v, entry.score)
            if outcome == "ok":
                return self.get(name)
        raise _contended(name)

    def watermark(self, name: str) -> datetime:
        """Everything planned up to it is over. Raises ``NotFound``, and ``InvalidInput`` where it
        cannot be read."""
        return self._entry(self._existing(name)[0]).watermark

    def first_try(self, name: str, now: datetime) -> datetime:
        """The actual instant that a template gets, which must be the same whoever fires: ``now``,
        unless somebody has tried to fire what is next before. Raises ``NotFound``."""
        for _ in range(_TRIES):
            written, _ = self._existing(name)
            version = written.v if written else ""
            (answer,) = self.shelf.first_tries("", [(name, version)], to_micros(now))
            if answer != "edited":
                return from_micros(answer)
        raise _contended(name)

    def fired(self, name: str, planned: datetime) -> bool:
        """Notes that an instant was fired by hand, so that everything up to it is over.

        Call it when RabbitMQ has confirmed it. False where the watermark was there already. A
        one-shot is over by it and gone. Raises ``NotFound``, and ``InvalidInput`` for one in
        quarantine.
        """
        for _ in range(_TRIES):
            entry = self._usable(name)
            if planned <= entry.watermark:
                return False
            outcome = self.shelf.advance("", [by_hand(entry, planned)])[0]
            if outcome in ("ok", "ended"):
                return True
        raise _contended(name)

    def stamp(self) -> str:
        """Another one than before, or none, and Redis has lost what it had."""
        return self.shelf.stamp()

    def _make(self, put: Put, old: Written | None, now: datetime) -> Made:
        check_audience(put.spec, self._fanout)
        return make(put, old, now, self._app)

    def _put(self, put: Put, now: datetime, *, replace: bool = True) -> Stored:
        name = put.spec.name
        for _ in range(_TRIES):
            old = self._read([name])[0] if replace else None
            made = self._make(put, old, now)
            expected = "" if old is None else old.v
            outcome = self.shelf.put(made.written, expected=expected, score=made.score)
            if outcome == "ok":
                written = replaced(made.written, score=made.score)
                return stored(name, written, readable(written, self._app))
            if not replace:
                raise InvalidInput(f"name: there is a schedule {name!r}; remove it first")
        raise _contended(name)

    def _put_some(self, puts: Sequence[Put], now: datetime) -> dict[str, str]:
        problems, rows = {}, []
        olds = self._read([put.spec.name for put in puts])
        for put, old in zip(puts, olds, strict=True):
            try:
                made = self._make(put, old, now)
            except InvalidInput as error:
                problems[put.spec.name] = str(error)
            else:
                rows.append((made.written, "" if old is None else old.v, made.score))
        outcomes = self.shelf.put_many(rows)
        again = {row[0].name for row, done in zip(rows, outcomes, strict=True) if done != "ok"}
        for put in puts:
            if put.spec.name in again:
                self._put(put, now)
        return problems

    def _rest(self, name: str, paused: bool, now: datetime | None) -> Stored:
        for _ in range(_TRIES):
            entry = self._usable(name)
            if entry.spec.paused == paused:
                break
            put = Put(spec=entry.spec, paused=paused, revision=entry.written.r)
            made = self._make(put, entry.written, now or datetime.now(UTC))
            outcome = self.shelf.put(made.written, expected=entry.written.v, score=made.score)
            if outcome == "ok":
                break
        else:
            raise _contended(name)
        return self.get(name)

    def _usable(self, name: str) -> Entry:
        written, found = self._existing(name)
        if found.state == QUARANTINED:
            raise InvalidInput(f"{name}: is in quarantine: {found.reason}")
        return self._entry(written)

    def _existing(self, name: str) -> tuple[Written | None, Stored]:
        found = self._look_at([name])
        if not found:
            raise _not_found(name)
        return self._read([name])[0], found[0]

    def _look_at(self, names: Sequence[str]) -> list[Stored]:
        """Those of the names that there are."""
        rows, reasons = self._read(names), self.shelf.reasons(names)
        found = zip(names, rows, reasons, strict=True)
        some = [(name, row, why or "") for name, row, why in found if row or why]
        return [stored(name, row, readable(row, self._app), why) for name, row, why in some]

    def _entry(self, written: Written | None) -> Entry:
        if written is None:
            raise InvalidInput("nothing is stored under this name any more; remove it")
        try:
            return Entry.read(written, self._app)
        except Unusable as error:
            raise InvalidInput(f"{written.name}: {error}") from error

    def _read(self, names: Sequence[str]) -> list[Written | None]:
        """As they are after those that RedBeat stored itself have become ours."""
        found = self.shelf.read(names, scores=True)
        old = [written for written in found if written and written.v == "0"]
        if not old:
            return found
        adopt_all(old, self.shelf, self._app)
        return self.shelf.read(names, scores=True)


def _not_found(name: str) -> NotFound:
    return NotFound(f"there is no schedule {name!r}")


def _contended(name: str) -> NotifyError:
    return NotifyError(f"{name}: others keep changing this schedule; try again")


def _chunks(puts: Iterable[Put]) -> Iterator[list[Put]]:
    rest = iter(puts)
    while some := list(islice(rest, _MANY)):
        yield some
