"""Publishes what is due, all of a chunk with a window of outstanding confirms.

What comes of an entry is one of four verdicts, and only the first lets it go on:

- ``DONE``: RabbitMQ has confirmed all that it had to fire.
- ``HELD``: RabbitMQ did not answer, or this beat leads no more: as it was, and soon again.
- ``LATER``: this one cannot be fired now, others can: again in some seconds, for as long as its
  misfire window lasts.
- ``BAD``: what it would send is invalid, and will be: into quarantine with it.

What was published without a confirm is published again, under the same id.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from notify.config import Settings
from notify.errors import (
    InvalidInput,
    InvalidNotification,
    NotifyError,
    Unavailable,
    Unconfirmed,
)
from notify.notification import Notification
from notify.publish import Client, Sent
from notify.schedule.counting import Outlet
from notify.schedule.entries import Entry, Work
from notify.schedule.fanout import Fanout
from notify.schedule.spec import depends_on_actual, notification
from notify.telemetry import event, safe_traceback
from notify.templates import Templates

log = logging.getLogger(__name__)

DONE: Final = "done"
HELD: Final = "held"
LATER: Final = "later"
BAD: Final = "bad"

WINDOW: Final = 500
# A template that was changed on disk is used after so many seconds, one that was missing sooner.
_TEMPLATES_KEPT: Final = 30.0
_AGAIN_SOON: Final = (Unavailable, Unconfirmed)
# What may be put right without a change to the schedule: a file that is not there yet.
_MENDABLE: Final = ("template", "attachments", "expires_at")


@dataclass(kw_only=True, slots=True)
class Job:
    """What one entry has to fire, and what came of it."""

    entry: Entry
    work: Work
    actual: datetime
    verdict: str = DONE
    why: str = ""
    refs: dict[datetime, str] = field(default_factory=dict)
    waiting: int = 0
    confirmed: datetime | None = None

    def spoil(self, verdict: str, why: str) -> None:
        """The first thing that went wrong counts."""
        if self.verdict == DONE:
            self.verdict, self.why = verdict, why


class Firing:
    """For one thread; ``renew`` may be called from another."""

    def __init__(
        self,
        settings: Settings,
        client: Outlet,
        *,
        anew: Callable[[Settings], Outlet] = Client,
        fanout: Fanout | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``anew`` makes the client for other settings."""
        self._settings = settings
        self._client = client
        self._anew = anew
        self._fanout = fanout
        self._clock = clock
        self._templates = Templates(settings.templates)
        self._templates_until = clock() + _TEMPLATES_KEPT
        self._new: Settings | None = None

    def renew(self, settings: Settings) -> None:
        """Uses these from the next chunk on."""
        self._new = settings

    def depends_on_actual(self, entry: Entry) -> bool:
        """Whether its content is another one each time it is tried, unless somebody remembers."""
        if "template" not in entry.spec.content:
            return False
        try:
            return depends_on_actual(entry.spec, self._templates)
        except NotifyError:
            # Said when it is rendered.
            return False

    def fire(self, jobs: Sequence[Job], may_go: Callable[[], bool]) -> None:
        """Gives each job its verdict. ``may_go`` is asked before each single publish."""
        if self._new is not None:
            self._settings, self._new = self._new, None
            self._client.close()
            self._client = self._anew(self._settings)
        if self._clock() > self._templates_until:
            self._read_templates_again()
        run = _Run(jobs, may_go, self._make, self._fan_out)
        feed = run.feed()
        while True:
            try:
                for sent in self._client.send_many(feed, window=WINDOW):
                    run.took(sent)
                break
            except NotifyError as error:
                run.stumbled(LATER, str(error))
            except Exception as error:
                log.error("cannot be published", extra=event(error=safe_traceback(error)))
                run.stumbled(BAD, f"cannot be published: {type(error).__name__}")
        run.close()
        if any(job.verdict == LATER and "template" in job.entry.spec.content for job in jobs):
            self._read_templates_again()

    def _make(self, job: Job, planned: datetime) -> Notification:
        return notification(job.entry.spec, planned, job.actual, self._templates)

    def _fan_out(self, job: Job, planned: datetime) -> str:
        if self._fanout is None:
            raise InvalidInput("audience: there is nobody here who sends to many")
        return self._fanout.start(job.entry.spec, planned, job.actual)

    def _read_templates_again(self) -> None:
        self._templates = Templates(self._settings.templates)
        self._templates_until = self._clock() + _TEMPLATES_KEPT


class _Run:
    """One pass over a chunk."""

    def __init__(
        self,
        jobs: Sequence[Job],
        may_go: Callable[[], bool],
        make: Callable[[Job, datetime], Notification],
        fan_out: Callable[[Job, datetime], str],
    ) -> None:
        self._jobs = jobs
        self._may_go = may_go
        self._make = make
        self._fan_out = fan_out
        self._by_id: dict[str, Job] = {}
        self._fed = 0
        self._current: Job | None = None
        self._away = ""

    def feed(self) -> Iterator[Notification]:
        """Goes on behind what made its consumer fail."""
        for job in self._jobs:
            self._current = job
            if job.verdict != DONE:
                self._fed += 1
                continue
            for planned in job.work.fire:
                if self._away or not self._may_go():
                    self._away = self._away or "leads no more"
                    return
                made = self._next(job, planned)
                if made is not None:
                    yield made
                if job.verdict != DONE:
                    break
            self._fed += 1
        self._current = None

    def _next(self, job: Job, planned: datetime) -> Notification | None:
        try:
            if job.entry.spec.audience.recipient is None:
                job.refs[planned] = self._fan_out(job, planned)
                job.confirmed = datetime.now(UTC)
                return None
            made = self._make(job, planned)
        except Exception as error:
            verdict, why = _verdict(error)
            # What is not there for this one may be there for the others.
            job.spoil(LATER if verdict == HELD else verdict, why)
            return None
        job.refs[planned] = made.id
        job.waiting += 1
        self._by_id[made.id] = job
        return made

    def took(self, sent: Sent) -> None:
        job = self._by_id.pop(sent.id)
        job.waiting -= 1
        if sent.error is None:
            job.confirmed = datetime.now(UTC)
            return
        verdict, why = _verdict(sent.error)
        job.spoil(verdict, why)
        if verdict == HELD:
            # All the others would wait as long for the same answer.
            self._away = why

    def stumbled(self, verdict: str, why: str) -> None:
        """Over the notification that was given last: what it was made of is to blame."""
        if self._current is not None:
            self._current.spoil(verdict, why)
        else:
            self._away = self._away or why

    def close(self) -> None:
        """What was not fed, or has no answer, is as it was."""
        for number, job in enumerate(self._jobs):
            if job.waiting or number >= self._fed:
                job.spoil(HELD, self._away or "not confirmed")


def _verdict(error: Exception) -> tuple[str, str]:
    """What an error means for the entry, and what may be said about it."""
    if not isinstance(error, NotifyError):
        log.error("cannot be made", extra=event(error=safe_traceback(error)))
        return BAD, f"cannot be made: {type(error).__name__}"
    # Of a template with many problems the first will do.
    why = str(error).partition("\n")[0]
    if isinstance(error, _AGAIN_SOON):
        return HELD, why
    if isinstance(error, InvalidNotification) and not error.field.startswith(_MENDABLE):
        return BAD, why
    return LATER, why
