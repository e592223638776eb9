"""What the next firings will be, for people: in local time, with what the clock does. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from notify.recurrence.planning import Delay, due_at, no_delay
from notify.recurrence.value import Recurrence
from notify.recurrence.zones import SECOND, gap, overlap, to_local

_TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """One firing: ``planned`` and ``due`` in UTC, ``local`` as the clock shows it.

    ``due`` is None for what is skipped, of which only the first in a row is shown. ``note``
    says what is unusual.
    """

    planned: datetime
    local: str
    due: datetime | None
    note: str


def preview(
    recurrence: Recurrence, after: datetime, count: int, delay: Delay = no_delay
) -> list[Preview]:
    """The next ``count`` lines: those that are skipped by a date or by quiet hours count too."""
    return list(islice(_previews(recurrence, after, delay), count))


def _previews(recurrence: Recurrence, after: datetime, delay: Delay) -> Iterator[Preview]:
    before = after
    found = recurrence.raw_after(after)
    while found is not None:
        opens = recurrence.closed_until(found)
        due = None if opens else due_at(recurrence, found, delay)
        yield Preview(
            planned=found,
            local=_text(recurrence, found),
            due=due,
            note="; ".join(_notes(recurrence, before, found, due)),
        )
        before, found = found, recurrence.raw_after(found if opens is None else opens - _TICK)


def _notes(
    recurrence: Recurrence, before: datetime, planned: datetime, due: datetime | None
) -> Iterator[str]:
    yield from _clock(recurrence, before, planned)
    if due is None:
        day = to_local(planned, recurrence.where).date()
        yield f"skipped: {'excluded' if day in recurrence.exclude else 'quiet hours'}"
    elif recurrence.quiet_end(planned) is not None:
        yield f"deferred by quiet hours to {_text(recurrence, due)}"
    elif due != planned:
        yield f"jitter: at {_text(recurrence, due)}"


def _clock(recurrence: Recurrence, before: datetime, planned: datetime) -> Iterator[str]:
    where = recurrence.where
    local = to_local(planned, where)
    skipped = gap(planned, where)
    rule = recurrence.rule
    if rule is not None and skipped is not None and not rule.hourly:
        meant = rule.local_after(skipped[0] - SECOND)
        if meant is not None and meant < skipped[1]:
            yield f"clock goes forward: {meant:%H:%M} does not exist, runs at {local:%H:%M}"
            return
    if overlap(local, where):
        yield f"clock goes back: {'second' if local.fold else 'first'} {local:%H:%M} of two"
        return
    change = _offset(recurrence, planned) - _offset(recurrence, before)
    if change:
        way = "forward" if change > timedelta() else "back"
        yield f"clock went {way} by {_duration(abs(change))}"


def _offset(recurrence: Recurrence, instant: datetime) -> timedelta:
    return instant.astimezone(recurrence.where).utcoffset() or timedelta()


def _duration(change: timedelta) -> str:
    hours, minutes = divmod(int(change.total_seconds()) // 60, 60)
    return f"{hours} h {minutes:02} min" if minutes else f"{hours} h"


def _text(recurrence: Recurrence, instant: datetime) -> str:
    return instant.astimezone(recurrence.where).isoformat(sep=" ", timespec="seconds")
