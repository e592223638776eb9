"""Writing schedules: to the database, which is the truth, and from there to Redis.

The database is first. What is interrupted after that, or while Redis is away, is put right by the
leading beat within a minute (see ``notify.schedule.reconciling``); before that, nothing was
changed. With ``truth = "redis"`` there is no database, and Redis alone is written to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from notify.config import Settings
from notify.errors import (
    ConfigError,
    InvalidInput,
    LedgerUnavailable,
    NotFound,
    Unavailable,
    UsageError,
)
from notify.schedule.book import Book
from notify.schedule.fanout import Fanout, check_audience
from notify.schedule.history import History
from notify.schedule.marker import Marker
from notify.schedule.rowing import from_row, to_row
from notify.schedule.spec import ScheduleSpec
from notify.schedule.stored import Put
from notify.schedule.syncing import Syncing
from notify.store.schedulerows import StoredSchedule
from notify.store.schedules import Schedules

_DATABASE: Final = "database"


class _Anybody:
    """Whoever sends to audiences elsewhere: what was stored once is not refused again."""

    def check(self, spec: ScheduleSpec) -> None:
        """All are taken."""

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        raise Unavailable("nobody here sends to audiences")


class Truth:
    """Schedules as they are meant to be. Every change says who made it (``actor``).

    Methods raise ``StoreUnavailable`` where nothing was changed, and ``LedgerUnavailable`` where
    Redis does not answer; its message says whether the database has the change nevertheless.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        fanout: Fanout | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """``fanout`` is who sends to audiences; without one they are refused."""
        self._fanout = fanout
        self._clock = clock
        self.book = Book(settings, fanout=_Anybody())
        self.history = History(settings)
        self.schedules: Schedules | None = None
        if settings.schedules.truth == _DATABASE:
            self.schedules = Schedules(settings.archive.url)
            self.schedules.create()
        self._marker = Marker(self.book.shelf)

    def close(self) -> None:
        self.book.close()
        self.history.close()
        if self.schedules is not None:
            self.schedules.close()

    def __enter__(self) -> "Truth":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self,
        spec: ScheduleSpec,
        actor: str,
        *,
        source: str = "",
        since: datetime | None = None,
    ) -> None:
        """Stores a new one, which fires for nothing planned until ``since`` (default: now).

        Raises ``InvalidInput`` for a name in use, and where nothing would ever be fired.
        """
        check_audience(spec, self._fanout)
        now = since or self._clock()
        if not spec.paused and spec.recurrence.next_after(now) is None:
            raise InvalidInput("nothing would ever be fired: nothing is planned from now on")
        if self.schedules is None:
            self.book.put(spec, now=now)
            return
        self._check_ours()
        if self._in_redis(spec.name) and self._row(spec.name) is None:
            raise _in_use(spec.name)
        row = to_row(spec, actor, now, source=source)
        if self.schedules.add(row) is not None:
            raise _in_use(spec.name)
        self._sync(row)

    def change(
        self, name: str, edit: Callable[[ScheduleSpec], ScheduleSpec], actor: str
    ) -> ScheduleSpec:
        """Puts what ``edit`` makes of it in its place.

        Raises ``NotFound``, and ``UsageError`` where somebody else changed it meanwhile.
        """
        old = self._row(name)
        before = self.get(name) if old is None else from_row(old)
        after = edit(before)
        if after.audience != before.audience:
            check_audience(after, self._fanout)
        now = self._clock()
        if self.schedules is None:
            self.book.put(after, replace=True, now=now)
            return after
        self._check_ours()
        old = old or self._adopted(before, actor)
        row = merged(to_row(after, actor, now, source=old.source), old)
        if not self.schedules.replace(row, old.change):
            raise UsageError(f"{name}: somebody else changed it meanwhile; look at it again")
        self._sync(row)
        if before.revision == after.revision:
            # What is written beside it: nothing else tells Redis of that.
            with told():
                self.book.put(after, replace=True, now=now)
        return after

    def pause(self, name: str, actor: str) -> None:
        """It fires nothing, be it due already. Raises ``NotFound``."""
        self._rest(name, True, actor)

    def resume(self, name: str, actor: str) -> None:
        """It fires nothing of what was planned meanwhile. Raises ``NotFound``."""
        self._rest(name, False, actor)

    def remove(self, name: str, actor: str) -> None:
        """Raises ``NotFound``."""
        if self.schedules is None:
            self.book.remove(name)
            return
        self._check_ours()
        if self.schedules.remove(name, actor):
            self._synced(name)
        else:
            # Nothing but Redis has it.
            self.book.remove(name)

    def adopt(self, name: str) -> None:
        """What only Redis has gets into the database; what cannot be read stays where it is."""
        with suppress(NotFound, InvalidInput):
            self._adopted(self.get(name), "")

    def put(self, items: Sequence[tuple[ScheduleSpec, str]], actor: str) -> None:
        """Stores schedules with their sources, whatever was there, all or none of them."""
        for spec, _ in items:
            check_audience(spec, self._fanout)
        now = self._clock()
        if self.schedules is None:
            problems = self.book.put_many([Put(spec=spec) for spec, _ in items], now=now)
            if problems:
                raise _all_of(problems)
            return
        self._check_ours()
        old = {row.name: row for row in self.schedules.named(spec.name for spec, _ in items)}
        rows = [
            merged(to_row(spec, actor, now, source=source), old.get(spec.name))
            for spec, source in items
        ]
        self.schedules.put(rows)
        self._sync(*rows)

    def many(self, names: Sequence[str]) -> dict[str, ScheduleSpec]:
        """Those that are there and can be read."""
        found = {}
        for name in names if self.schedules is None else ():
            with suppress(NotFound, InvalidInput):
                found[name] = self.get(name)
        for row in self.schedules.named(names) if self.schedules is not None else ():
            with suppress(InvalidInput):
                found |= {row.name: from_row(row)} if row.lives else {}
        return found

    def get(self, name: str) -> ScheduleSpec:
        """Raises ``NotFound``, and ``InvalidInput`` for one that cannot be read."""
        row = self._row(name)
        if row is not None:
            return from_row(row)
        stored = self.book.get(name)
        if stored.spec is None:
            raise InvalidInput(f"{name}: cannot be read: {stored.reason}")
        return stored.spec

    def row(self, name: str) -> StoredSchedule | None:
        """What the database knows of it, also of one that is gone."""
        return None if self.schedules is None else self.schedules.get(name)

    def _row(self, name: str) -> StoredSchedule | None:
        row = self.row(name)
        return row if row is not None and row.lives else None

    def _rest(self, name: str, paused: bool, actor: str) -> None:
        now = self._clock()
        if self.schedules is None:
            self.book.pause(name, now=now) if paused else self.book.resume(name, now=now)
            return
        self._check_ours()
        row = self._row(name)
        if row is None:
            self._adopted(self.get(name), actor)
        elif row.paused == paused:
            return
        self.schedules.pause(name, paused, None if paused else now, actor)
        self._synced(name)

    def _adopted(self, spec: ScheduleSpec, actor: str) -> StoredSchedule:
        """One that only Redis had gets its row."""
        assert self.schedules is not None
        row = to_row(spec, actor, self._clock())
        self.schedules.add(row)
        return self.schedules.get(spec.name) or row

    def _synced(self, name: str) -> None:
        row = self.row(name)
        if row is not None:
            self._sync(row)

    def _sync(self, *rows: StoredSchedule) -> None:
        syncing = Syncing(self.book, self.history.last)
        with told():
            syncing.sync(rows)
        if syncing.findings.problems:
            raise _all_of(syncing.findings.problems)

    def _in_redis(self, name: str) -> bool:
        try:
            self.book.get(name)
        except NotFound:
            return False
        return True

    def _check_ours(self) -> None:
        """Raises ``ConfigError`` where Redis belongs to another database's schedules."""
        assert self.schedules is not None
        if self._marker.foreign(self.schedules.identity()):
            raise ConfigError([FOREIGN])


FOREIGN: Final = (
    "archive.url: the schedules in this Redis are those of another database: hosts that share a"
    " Redis need one archive, in PostgreSQL; to let this one take over:"
    " notify schedule restore --take-over --yes"
)


@contextmanager
def told() -> Iterator[None]:
    """While Redis is away: the database has it, which is enough."""
    try:
        yield
    except LedgerUnavailable as error:
        raise LedgerUnavailable(
            f"{error}; the database has the change, and the beat brings it to Redis"
        ) from error


def merged(row: StoredSchedule, old: StoredSchedule | None) -> StoredSchedule:
    """What stays when it is changed: who made it, and, with the same times, since when."""
    if old is None or not old.lives:
        return row
    timed = _times(old) != _times(row) or old.paused != row.paused
    since = row.since if timed else old.since
    return replace(row, since=since, created_at=old.created_at, created_by=old.created_by)


def _times(row: StoredSchedule) -> object:
    try:
        return from_row(row).recurrence
    except InvalidInput:
        return None


def _all_of(problems: Mapping[str, str]) -> InvalidInput:
    return InvalidInput("\n".join(f"{name}: {problem}" for name, problem in problems.items()))


def _in_use(name: str) -> InvalidInput:
    return InvalidInput(f"name: there is a schedule {name!r}; remove it first")
