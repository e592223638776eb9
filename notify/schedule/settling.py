"""Notes what came of a chunk: where each entry goes on, and what there is to tell."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from notify.schedule.desk import Desk
from notify.schedule.entries import due
from notify.schedule.firing import BAD, DONE, LATER, Job
from notify.schedule.moving import happened, step
from notify.schedule.shelf import Delay
from notify.store.occurrences import FAILED, FIRED, MISSED, SKIPPED, Occurrence
from notify.telemetry import event

log = logging.getLogger(__name__)

_LATER_SECONDS: Final = 5.0
_FENCED: Final = "fenced"
_SAID: Final = {
    FIRED: (logging.INFO, "schedule fired"),
    SKIPPED: (logging.INFO, "schedule skipped"),
    MISSED: (logging.WARNING, "schedule missed"),
    FAILED: (logging.ERROR, "schedule failed"),
}


class Settling:
    """Each step is conditional on the lock, and on what was read: see ``scripts``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def settle(self, jobs: Sequence[Job], now: datetime) -> None:
        self._advance([job for job in jobs if job.verdict == DONE], now)
        self._put_off([job for job in jobs if job.verdict == LATER], now)
        for job in jobs:
            if job.verdict == BAD:
                self.set_aside(job.entry.name, job.entry.written.v, job.why)

    def _advance(self, jobs: Sequence[Job], now: datetime) -> None:
        desk = self._desk
        steps = [step(job, now) for job in jobs]
        outcomes = self._ours(desk.shelf.advance(desk.leader.token, steps))
        facts: list[Occurrence] = []
        for job, outcome in zip(jobs, outcomes, strict=True):
            # Otherwise another leads, fires it again under the same ids, and notes it.
            if outcome != _FENCED:
                facts += happened(job)
                self._measure(job, now)
        for fact in facts:
            self._tell(fact)
        desk.recording.add(facts)

    def _measure(self, job: Job, now: datetime) -> None:
        for planned in job.work.fire:
            late = (job.confirmed or now) - due(job.entry.spec, planned)
            self._desk.metrics.lag_seconds.observe(max(0.0, late.total_seconds()))

    def _tell(self, fact: Occurrence) -> None:
        self._desk.metrics.occurrences.labels(fact.outcome).inc(fact.count)
        level, words = _SAID[fact.outcome]
        if log.isEnabledFor(level):
            told = event(
                schedule=fact.schedule,
                planned=fact.planned.isoformat(),
                count=fact.count if fact.count > 1 else None,
                id=fact.ref,
                why=fact.note,
            )
            log.log(level, words, extra=told)

    def _put_off(self, jobs: Sequence[Job], now: datetime) -> None:
        score = now.timestamp() + _LATER_SECONDS
        for job in jobs:
            if job.entry.written.x != job.why:
                said = event(schedule=job.entry.name, why=job.why)
                log.warning("schedule not fired, will try again", extra=said)
        rows = [
            Delay(name=job.entry.name, version=job.entry.written.v, score=score, why=job.why)
            for job in jobs
        ]
        self._ours(self._desk.shelf.later(self._desk.leader.token, rows))

    def set_aside(self, name: str, version: str, why: str) -> None:
        desk = self._desk
        at = desk.now().timestamp()
        outcome = desk.shelf.quarantine(desk.leader.token, name, version, at, why)
        if self._ours([outcome]) == ["ok"]:
            desk.metrics.quarantined.inc()
            log.error("schedule in quarantine", extra=event(schedule=name, why=why))

    def _ours(self, outcomes: list[str]) -> list[str]:
        """Redis knows better than we do who leads: without this, the same would come again."""
        if _FENCED in outcomes:
            self._desk.leader.doubt()
        return outcomes
