"""The beat: publishes each occurrence with a confirm, and only then advances its schedule."""

import logging
import signal
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from celery.beat import Service
from celery.schedules import crontab
from redbeat import RedBeatScheduler
from redbeat.schedules import rrule
from redis import RedisError

from notify.config import Settings
from notify.errors import LedgerUnavailable
from notify.notification import Notification
from notify.publish import Client
from notify.schedule.entries import LOOP_INTERVAL, beat_app, read_notification
from notify.telemetry import event, safe_traceback, set_up_logging

log = logging.getLogger(__name__)

# Later than this, the next run counts from now: missed runs are one run, not a burst.
_LATE: Final = timedelta(seconds=5)


class Scheduler(RedBeatScheduler):
    """RedBeat's scheduler, which publishes before it advances.

    RedBeat marks a run as done and then publishes: with the broker down at that moment the
    run is lost. Here the planned instant is part of the notification's id, so that a run
    that is published twice is delivered once.
    """

    def setup_schedule(self) -> None:
        """Installs nothing: Celery would add a schedule of its own for result backends."""

    def tick(self, *arguments: Any, **options: Any) -> float:
        if self.lock_key and self.lock is None:
            # Celery swallows what goes wrong while the lock is taken: without it, two beats lead.
            raise LedgerUnavailable("Redis: the lock of the leading beat could not be taken")
        return float(super().tick(*arguments, **options))

    def maybe_due(self, entry: Any, **_: Any) -> float:
        due, seconds = entry.is_due()
        if due:
            try:
                self._fire(entry)
            except Exception as error:
                log.error(
                    "schedule not fired, will try again",
                    extra=event(schedule=entry.name, error=safe_traceback(error)),
                )
        # None where nothing follows: a one-shot that has fired.
        return LOOP_INTERVAL if seconds is None else float(seconds)

    def _fire(self, entry: Any) -> None:
        planned = planned_instant(entry)
        notification = occurrence(entry.name, planned, read_notification(entry))
        self.app.notify_client.send(notification)
        log.info("schedule fired", extra=event(schedule=entry.name, id=notification.id))
        now = datetime.now(UTC)
        following = entry._next_instance(last_run_at=now if now - planned > _LATE else planned)
        if following.due_at is None:
            following.delete()


def planned_instant(entry: Any) -> datetime:
    """When the entry's next run is planned: the same for every beat, however late it is.

    RedBeat's own ``due_at`` says "now" for a run that is overdue, and its score has whole
    seconds only.
    """
    kind, last = entry.schedule, entry.last_run_at
    if isinstance(kind, rrule):
        instant = kind.rrule.after(last)
    elif isinstance(kind, crontab):
        start, delta, _ = kind.remaining_delta(last)
        instant = start + delta
    else:
        instant = last + kind.run_every
    return cast("datetime", instant).astimezone(UTC)


def occurrence(name: str, planned: datetime, notification: Notification) -> Notification:
    """The notification of one planned firing: the same id whoever fires it."""
    instant = planned.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return notification.evolve(id=f"schedule:{name}:{instant}", created_at=datetime.now(UTC))


def run_beat(settings: Settings) -> int:
    """Fires schedules until SIGTERM or SIGINT. One beat leads, further ones wait for its lock.

    Raises ``LedgerUnavailable`` when Redis does not answer or the lock was lost: systemd
    starts it again, and it waits for the lock like any other.
    """
    set_up_logging(settings.log.level, settings.log.format)
    app = beat_app(settings)
    with Client(settings) as client:
        app.notify_client = client
        service = Service(app, max_interval=LOOP_INTERVAL, scheduler_cls=Scheduler)
        _stop_on_signals(service)
        log.info("ready", extra=event(what="beat"))
        try:
            service.start()
        except RedisError as error:
            raise LedgerUnavailable(f"Redis: {type(error).__name__}; the beat stops") from error
    log.info("stopped", extra=event(what="beat"))
    return 0


def _stop_on_signals(service: Service) -> None:
    # Built now: a signal may come while it is being built, and the handler must not build it.
    scheduler = service.scheduler

    def stop(*_: object) -> None:
        service.stop()
        if scheduler.lock is None:
            # Still waiting for the leader's lock, which nothing else interrupts.
            raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
