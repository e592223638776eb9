"""How an entry goes on when all that it had to fire is confirmed, and what there is to tell."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from notify.recurrence import Skipped
from notify.schedule.entries import encode_meta
from notify.schedule.firing import Job
from notify.schedule.instants import to_micros
from notify.schedule.shelf import Step
from notify.store.occurrences import FAILED, FIRED, MISSED, SKIPPED, Occurrence

# A score that is due already would be looked at in a loop.
_SOON: Final = 1.0
# Reasons after which nobody wanted it any more, and those after which it came too late.
_LATE: Final = ("too late", "expired")


def step(job: Job, now: datetime) -> Step:
    """The next planned instant follows from the last one, however late that was fired."""
    entry, work = job.entry, job.work
    score = work.score
    if score is not None and not work.fire and not work.passed and 0 <= score <= now.timestamp():
        score = now.timestamp() + _SOON
    fired = len(work.fire)
    last = work.fire[-1] if fired else None
    return Step(
        name=entry.name,
        version=entry.written.v,
        was=entry.written.w,
        watermark=to_micros(work.watermark),
        score=score,
        meta=encode_meta(last, entry.total_run_count + fired) if last else entry.written.meta,
        through=to_micros(last) if last else 0,
    )


def happened(job: Job) -> list[Occurrence]:
    """One for each firing, and one for each run of instants that were passed over."""
    return [*_passed(job), *_fired(job)]


def _fired(job: Job) -> Iterator[Occurrence]:
    for planned in job.work.fire:
        yield Occurrence(
            schedule=job.entry.name,
            planned=planned,
            actual=job.confirmed or job.actual,
            outcome=FIRED,
            ref=job.refs.get(planned, ""),
        )


def _passed(job: Job) -> Iterator[Occurrence]:
    trouble = job.entry.written.x
    for skipped in job.work.passed:
        yield Occurrence(
            schedule=job.entry.name,
            planned=skipped.last,
            actual=job.actual,
            outcome=_outcome(skipped, trouble),
            count=skipped.count,
            note=trouble or skipped.why,
        )


def _outcome(skipped: Skipped, trouble: str) -> str:
    if skipped.why not in _LATE:
        return SKIPPED
    return FAILED if trouble else MISSED
