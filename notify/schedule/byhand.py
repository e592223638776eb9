"""Firing by hand: once more, or a planned instant in place of the beat.

``fire_planned`` makes cron, a systemd timer or a Kubernetes CronJob drive a schedule. A beat may
run at the same time: both publish the same id, and whoever comes second finds the watermark there.
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from notify.config import Settings
from notify.errors import NotifyError, StoreUnavailable, UsageError
from notify.publish import Client
from notify.schedule.audience.order import batch_name
from notify.schedule.fanout import Fanout, check_audience
from notify.schedule.spec import (
    ONCE,
    ScheduleSpec,
    depends_on_actual,
    notification,
    notification_id,
)
from notify.schedule.stored import ASLEEP, QUARANTINED, Stored
from notify.schedule.truth import Truth
from notify.store.occurrences import EXTRA, FIRED, SKIPPED, Occurrence
from notify.telemetry import event
from notify.templates import Templates

log = logging.getLogger(__name__)

_TICK: Final = timedelta(microseconds=1)
# So far ahead a clock may be that calls for a firing.
_EARLY: Final = timedelta(seconds=60)
_COUNTED: Final = 10_000


class Refused(NotifyError):
    """This instant is not fired."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fired:
    """``before``: it had been fired already, and nothing was done."""

    ref: str
    planned: datetime
    actual: datetime
    before: bool = False


class ByHand:
    """Methods raise ``NotFound``, ``Refused``, ``UsageError``, and what publishing raises: after
    that the same call is safe."""

    def __init__(
        self, settings: Settings, truth: Truth, client: Client, *, fanout: Fanout | None = None
    ) -> None:
        self._truth = truth
        self._client = client
        self._fanout = fanout
        self._templates = Templates(settings.templates)

    def once_more(self, name: str) -> Fired:
        """Now, beside the plan, with an id of its own: each call sends."""
        spec = self._stored(name)[1]
        if spec.origin == ONCE:
            raise UsageError(f"{name}: is sent once only; --planned and --early send it now")
        now = datetime.now(UTC)
        # Never a planned instant, which are whole seconds.
        now = now if now.microsecond else now + _TICK
        ref = self._publish(spec, now, now)
        self._record(Occurrence(schedule=name, planned=now, actual=now, outcome=EXTRA, ref=ref))
        return Fired(ref=ref, planned=now, actual=now)

    def planned(self, name: str, planned: datetime, *, early: bool = False) -> Fired:
        """That of this instant, once; then everything up to it is over."""
        before = self._fired_before(name, planned)
        if before is not None:
            return before
        stored, spec = self._stored(name)
        if stored.last_at == planned:
            # A beat has just done so, and the history does not know it yet.
            return Fired(ref=_ref(spec, planned), planned=planned, actual=planned, before=True)
        self._check(stored, spec, planned, early)
        now = datetime.now(UTC)
        actual = now
        if spec.audience.recipient is not None and depends_on_actual(spec, self._templates):
            actual = self._truth.book.first_try(name, now)
        passed = self._passed(stored, spec, planned)
        ref = self._publish(spec, planned, actual)
        advanced = self._truth.book.fired(name, planned)
        fired = Occurrence(schedule=name, planned=planned, actual=now, outcome=FIRED, ref=ref)
        self._record(*([passed] if passed and advanced else []), fired)
        return Fired(ref=ref, planned=planned, actual=now)

    def _stored(self, name: str) -> tuple[Stored, ScheduleSpec]:
        stored = self._truth.book.get(name)
        if stored.spec is None or stored.state == QUARANTINED:
            raise Refused(f"{name}: is in quarantine: {stored.reason}")
        check_audience(stored.spec, self._fanout)
        return stored, stored.spec

    def _fired_before(self, name: str, planned: datetime) -> Fired | None:
        try:
            found = self._truth.history.of(name, before=planned + _TICK, outcome=FIRED, limit=1)
        except StoreUnavailable:
            return None
        if not found or found[0].planned != planned:
            return None
        return Fired(ref=found[0].ref, planned=planned, actual=found[0].actual, before=True)

    def _check(self, stored: Stored, spec: ScheduleSpec, planned: datetime, early: bool) -> None:
        recurrence = spec.recurrence
        following = recurrence.next_after(planned - _TICK)
        if following != planned:
            last = recurrence.last_before(planned)
            near = [f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in (last, following) if each]
            raise UsageError(
                f"--planned: {stored.name} plans nothing then; it plans {' and '.join(near)}"
            )
        if stored.state == ASLEEP:
            raise Refused(f"{stored.name}: is paused")
        if stored.watermark is not None and planned <= stored.watermark:
            raise Refused(
                f"{stored.name}: {planned:%Y-%m-%dT%H:%M:%SZ} is over: everything planned up to"
                f" {stored.watermark:%Y-%m-%dT%H:%M:%SZ} was fired or passed over"
            )
        if not early and planned > datetime.now(UTC) + _EARLY:
            raise Refused(f"{stored.name}: that instant is yet to come; --early fires it now")

    def _passed(self, stored: Stored, spec: ScheduleSpec, planned: datetime) -> Occurrence | None:
        """What was planned before and is over by this, unfired."""
        last = spec.recurrence.last_before(planned)
        if stored.watermark is None or last is None or last <= stored.watermark:
            return None
        count, _ = spec.recurrence.count(stored.watermark, last, _COUNTED)
        return Occurrence(
            schedule=stored.name,
            planned=last,
            actual=datetime.now(UTC),
            outcome=SKIPPED,
            count=count,
            note="a later one was fired by hand",
        )

    def _publish(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        if spec.audience.recipient is not None:
            return self._client.send(notification(spec, planned, actual, self._templates))
        assert self._fanout is not None
        return self._fanout.start(spec, planned, actual)

    def _record(self, *happened: Occurrence) -> None:
        """It was fired whether or not it can be noted."""
        try:
            self._truth.history.record(happened)
        except StoreUnavailable as error:
            log.warning("history not kept", extra=event(error=str(error)))


def _ref(spec: ScheduleSpec, planned: datetime) -> str:
    if spec.audience.recipient is not None:
        return notification_id(spec, planned)
    return batch_name(spec.name, planned)
