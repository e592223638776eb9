"""What a schedule has to fire at a given moment, and what it has missed. Pure.

A watermark stands at a planned instant: everything up to it is over, fired or skipped. It moves
forwards only, in the order of the planned instants, so that nothing is planned twice. Planning
takes no longer after a year of silence than after an hour.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from notify.recurrence.misfire import ON_TIME, RUN_ALL, Misfire
from notify.recurrence.value import SKIP, Recurrence

TOO_LATE: Final = "too late"
SUPERSEDED: Final = "superseded"
OVER_CAP: Final = "over the cap"
QUIET: Final = "quiet hours"
Delay = Callable[[datetime], float]
_TICK: Final = timedelta(microseconds=1)
_ON_TIME: Final = timedelta(seconds=ON_TIME)
# Looked at one by one, newest first: more than the largest cap. And counted one by one.
_MOST_LOOKED_AT: Final = 1500
_MOST_COUNTED: Final = 100


@dataclass(frozen=True, slots=True)
class Skipped:
    """Planned instants from ``first`` until ``last`` that are never fired, and why.

    There were ``count`` of them; at least so many, where it is not ``exact``.
    """

    first: datetime
    last: datetime
    count: int
    why: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """``fire`` are the planned instants to be fired now, oldest first; then ``watermark`` holds.

    ``next`` is planned after it, and there is nothing to do before ``next_due``: its delay is
    over then, or the quiet hours are. None where nothing follows.
    """

    fire: tuple[datetime, ...]
    skipped: tuple[Skipped, ...]
    watermark: datetime
    next: datetime | None
    next_due: datetime | None


def no_delay(_: datetime) -> float:
    return 0.0


def due_at(recurrence: Recurrence, planned: datetime, delay: Delay) -> datetime:
    """When it is to be fired. Firings that wait for the same end of quiet hours wait equally
    long after it, so that the order is kept."""
    return recurrence.due(planned, delay(recurrence.earliest(planned)))


def plan(
    recurrence: Recurrence,
    watermark: datetime,
    now: datetime,
    misfire: Misfire,
    delay: Delay = no_delay,
) -> Plan:
    """What to do at ``now``. ``delay`` gives the seconds by which a firing at some instant is
    put off.

    A schedule that is new, has got other times, or is resumed, has ``now`` for a watermark: it
    never fires for the past. Lateness counts from when something was due, which for what is
    planned within quiet hours is their end. Of several that waited for it, only the latest is
    fired, as of several that were missed. What is late never fires within quiet hours: it
    waits, or is skipped, as they say.
    """
    following = recurrence.next_after(watermark)
    if following is None or following > now:
        return _planned(recurrence, delay, watermark, following)
    single = _single(recurrence, watermark, following, now, delay)
    if single is not None:
        return single
    found = _Found(recurrence, watermark, now, misfire, delay)
    skipped = found.skipped(following)
    if skipped:
        watermark = skipped[-1].last
    fire = tuple(item.planned for item in reversed(found.ready))
    until = recurrence.quiet_end(now)
    if until is not None and not all(item.prompt for item in found.ready):
        return Plan((), skipped, watermark, fire[0], until)
    if fire:
        watermark = fire[-1]
    following = recurrence.next_after(watermark)
    return _planned(recurrence, delay, watermark, following, fire=fire, skipped=skipped)


def _single(
    recurrence: Recurrence, watermark: datetime, following: datetime, now: datetime, delay: Delay
) -> Plan | None:
    """The usual case, for which there is no need to look back: one on time, and no other."""
    after = recurrence.next_after(following)
    if after is not None and after <= now:
        return None
    due = due_at(recurrence, following, delay)
    if due > now:
        return Plan((), (), watermark, following, due)
    if now - due > _ON_TIME or recurrence.quiet_end(following) is not None:
        return None
    return _planned(recurrence, delay, following, after, fire=(following,))


def _planned(
    recurrence: Recurrence,
    delay: Delay,
    watermark: datetime,
    following: datetime | None,
    *,
    fire: tuple[datetime, ...] = (),
    skipped: tuple[Skipped, ...] = (),
) -> Plan:
    due = None if following is None else due_at(recurrence, following, delay)
    return Plan(fire, skipped, watermark, following, due)


@dataclass(frozen=True, slots=True)
class _Item:
    """``prompt`` is what is fired whatever else there is: on time, and put off by no quiet."""

    planned: datetime
    due: datetime
    deferred: bool
    prompt: bool


class _Found:
    """What is ``ready``, newest first, and where what is skipped begins; looked for backwards."""

    def __init__(
        self,
        recurrence: Recurrence,
        watermark: datetime,
        now: datetime,
        misfire: Misfire,
        delay: Delay,
    ) -> None:
        self.recurrence = recurrence
        self.watermark = watermark
        self.now = now
        self.misfire = misfire
        self.delay = delay
        self.ready: list[_Item] = []
        self.last_skipped: _Item | None = None
        # Missed or deferred, and neither fired nor skipped before: the newest have precedence.
        self._others = 0
        self._in_quiet = recurrence.quiet_end(now) is not None
        self._look()

    def _look(self) -> None:
        for item in islice(self._backwards(), _MOST_LOOKED_AT):
            # What is planned earlier does not wait for its delay when a later one is ready.
            waits = item.due > self.now and not self.ready
            if not waits and not self._wanted(item):
                self.last_skipped = item
                return
            self._others += item.deferred if waits else not item.prompt
            if not waits:
                self.ready.append(item)

    def _wanted(self, item: _Item) -> bool:
        if item.prompt:
            return True
        if self._late(item) or (self._in_quiet and self.recurrence.quiet_policy == SKIP):
            return False
        if self.misfire.policy == RUN_ALL:
            return self._others < self.misfire.cap
        return not self._others and not self.ready

    def skipped(self, following: datetime) -> tuple[Skipped, ...]:
        """From the first after the watermark on."""
        if self.last_skipped is None:
            return ()
        last, late = self.last_skipped.planned, self._last_late()
        if late is None:
            return (self._range(following, last, self._why()),)
        too_late = self._range(following, late, TOO_LATE)
        rest = self.recurrence.next_after(late)
        if rest is None or rest > last:
            return (too_late,)
        return (too_late, self._range(rest, last, self._why()))

    def _last_late(self) -> datetime | None:
        """The newest that is too late; what is after it might have been fired."""
        bound = self.now - timedelta(seconds=self.misfire.grace)
        if self.last_skipped is not None and self._late(self.last_skipped):
            return self.last_skipped.planned
        while (found := self._item(self.recurrence.last_before(bound))) is not None:
            if self._late(found):
                return found.planned
            quiet = self.recurrence.quiet_start(found.planned)
            bound = found.planned if quiet is None else min(quiet, found.planned)
        return None

    def _why(self) -> str:
        if self._in_quiet and self.recurrence.quiet_policy == SKIP:
            return QUIET
        return OVER_CAP if self.misfire.policy == RUN_ALL else SUPERSEDED

    def _range(self, first: datetime, last: datetime, why: str) -> Skipped:
        count, exact = self.recurrence.count(first - _TICK, last, _MOST_COUNTED)
        return Skipped(first, last, count, why, exact)

    def _late(self, item: _Item) -> bool:
        return self.now - item.due > timedelta(seconds=self.misfire.grace)

    def _backwards(self) -> Iterator[_Item]:
        found = self._item(self.recurrence.last_before(self._newest()))
        while found is not None:
            yield found
            found = self._item(self.recurrence.last_before(found.planned))

    def _newest(self) -> datetime:
        """Nothing from here on is due: what is planned within these quiet hours waits for their
        end, however much it is."""
        quiet = self.recurrence.quiet_start(self.now)
        return self.now + _TICK if quiet is None else quiet

    def _item(self, planned: datetime | None) -> _Item | None:
        """None for what is over."""
        if planned is None or planned <= self.watermark:
            return None
        due = due_at(self.recurrence, planned, self.delay)
        deferred = self.recurrence.quiet_end(planned) is not None
        prompt = not deferred and self.now - due <= _ON_TIME
        return _Item(planned, due, deferred, prompt)
