"""When a schedule fires: every so often, by a cron expression in UTC, or once."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from celery.schedules import ParseException, crontab, schedule
from redbeat.schedules import rrule

from notify.errors import InvalidInput

_YEAR: Final = 366 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """Exactly one of the three: ``every`` seconds, ``cron``, or ``at`` an instant."""

    every: float | None = None
    cron: str | None = None
    at: datetime | None = None

    def describe(self) -> str:
        if self.every is not None:
            return f"every {self.every:g} s"
        return f"cron {self.cron} (UTC)" if self.cron else f"once at {self.at}"

    def to_celery(self, app: Any) -> Any:
        """The same as one of Celery's or RedBeat's schedule types."""
        if self.every is not None:
            return schedule(run_every=self.every, app=app)
        if self.cron:
            return _crontab(self.cron, app)
        return rrule(freq="SECONDLY", dtstart=self.at, count=1, app=app)


def parse_timing(*, every: float | None, cron: str | None, at: datetime | None) -> Timing:
    """Checks the three ways to say when. Raises ``InvalidInput``, naming the option."""
    if sum(value is not None for value in (every, cron, at)) != 1:
        raise InvalidInput("give exactly one of every, cron and at")
    if every is not None and not 1 <= every <= _YEAR:
        raise InvalidInput("every: must be at least one second and at most a year")
    if cron is not None:
        _crontab(cron, None)
    if at is not None:
        at = _future(at)
    return Timing(every=every, cron=cron, at=at)


def _future(at: datetime) -> datetime:
    if at.utcoffset() is None:
        raise InvalidInput("at: must have a UTC offset, like 2027-03-01T09:00:00+01:00")
    # RedBeat never fires a one-shot whose instant is not ahead when it is stored.
    if at <= datetime.now(UTC) + timedelta(seconds=1):
        raise InvalidInput("at: must be in the future")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("at: must be before the end of the year 9999 in UTC") from None


def _crontab(text: str, app: Any) -> Any:
    fields = text.split()
    if len(fields) != 5:
        raise InvalidInput("cron: must have five fields: minute hour day month weekday")
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    try:
        return crontab(**dict(zip(names, fields, strict=True)), app=app)
    except (ParseException, ValueError) as error:
        raise InvalidInput(f"cron: {error}") from error
