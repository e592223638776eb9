"""One notification at an instant: stored durably, delivered once, cancelled until then.

It is a schedule of its own, whose name is the notification's id.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notify.config import Settings
from notify.errors import (
    InvalidInput,
    InvalidNotification,
    LedgerUnavailable,
    NotFound,
    StoreUnavailable,
)
from notify.notification import Notification
from notify.redisclient import translated
from notify.schedule.checking import read_schedule
from notify.schedule.durability import NO, appends, until_durable
from notify.schedule.spec import ONCE, ScheduleSpec
from notify.schedule.truth import Truth
from notify.store.schedules import REMOVED
from notify.telemetry import event
from notify.templates import Templates

log = logging.getLogger(__name__)

_AHEAD: Final = timedelta(days=5 * 366)
_FIELDS: Final = (
    *("channel", "recipient", "priority", "subject", "body", "html", "data", "unsubscribe"),
)
_FIRINGS: Final = "schedule:"
_OTHER: Final = "id: is in use, for another time or with other content"


@dataclass(frozen=True, kw_only=True, slots=True)
class Once:
    """What became of the wish: ``state`` is "scheduled", or for one that is over "fired",
    "skipped", "missed" or "failed". ``on_disk``: the database has it, or Redis has it on disk."""

    id: str
    at: datetime
    state: str
    on_disk: bool


class OneShots:
    """Sends at an instant. Methods raise what ``Truth`` raises."""

    def __init__(self, settings: Settings, truth: Truth, templates: Templates) -> None:
        self._settings = settings
        self._truth = truth
        self._templates = templates

    def add(self, id: str, values: Mapping[str, Any], actor: str) -> Once:
        """``values`` are a schedule's, ``at`` among them. The same ones again change nothing.

        Raises ``InvalidInput`` naming the key, also for an id that is in use otherwise.
        """
        if id.startswith(_FIRINGS):
            raise InvalidInput(f"id: must not begin with {_FIRINGS}, as those of schedules do")
        # Whatever is ahead now is sent, should its moment pass while it is being stored.
        now = datetime.now(UTC)
        spec = self._spec(id, values, now)
        at = spec.recurrence.at
        assert at is not None
        self._require_a_keeper()
        try:
            self._truth.add(spec, actor, since=now)
        except InvalidInput as error:
            with suppress(NotFound):
                return self._known(spec, at)
            raise error
        except LedgerUnavailable as error:
            if self._truth.row(id) is None:
                raise
            # It would be sent twice by whoever has no id of their own and asks again.
            log.warning("redis has it later", extra=event(id=id, error=str(error)))
        return Once(id=id, at=at, state="scheduled", on_disk=self._on_disk())

    def add_notification(self, notification: Notification, at: datetime, actor: str) -> Once:
        """The same from Python. Raises ``InvalidNotification`` for what cannot wait."""
        return self.add(notification.id, _values(notification, at), actor)

    def cancel(self, id: str, actor: str) -> None:
        """Raises ``NotFound`` where it is not, or is over, or is no one-shot."""
        row = self._truth.row(id)
        if row is not None and not row.lives:
            over = "was cancelled" if row.ending == REMOVED else f"is over: {row.ending}"
            raise NotFound(f"{id}: {over}")
        if self._truth.get(id).origin != ONCE:
            raise NotFound(f"{id}: is no notification that is sent at an instant")
        self._truth.remove(id, actor)

    def _spec(self, id: str, values: Mapping[str, Any], now: datetime) -> ScheduleSpec:
        settings, templates = self._settings, self._templates
        try:
            spec = read_schedule(settings, templates, id, values, origin=ONCE, now=now)
        except InvalidInput:
            # Asked for again when it is over: it must not look like a mistake.
            over = self._over(id, values)
            if over is None:
                raise
            spec = over
        at = spec.recurrence.at
        if at is None:
            raise InvalidInput("at: is missing")
        if at > now + _AHEAD:
            raise InvalidInput("at: is more than five years ahead")
        return spec

    def _over(self, id: str, values: Mapping[str, Any]) -> ScheduleSpec | None:
        row = self._truth.row(id)
        if row is None:
            return None
        settings, templates, then = self._settings, self._templates, row.created_at
        spec = read_schedule(settings, templates, id, values, origin=ONCE, now=then)
        return spec if spec.revision == row.revision else None

    def _known(self, spec: ScheduleSpec, at: datetime) -> Once:
        """The answer that was given before, if it was for the same."""
        row = self._truth.row(spec.name)
        if row is None:
            same, ending = self._truth.get(spec.name).revision == spec.revision, ""
        else:
            same, ending = row.revision == spec.revision and row.origin == ONCE, row.ending
        if ending == REMOVED:
            raise InvalidInput("id: was cancelled; take another one")
        if not same:
            raise InvalidInput(_OTHER)
        return Once(id=spec.name, at=at, state=ending or "scheduled", on_disk=self._on_disk())

    def _require_a_keeper(self) -> None:
        if self._truth.schedules is not None:
            return
        with translated():
            kept = appends(self._truth.book.shelf.redis)
        if not kept:
            raise StoreUnavailable(
                "at: nothing would keep it: Redis has no append-only file, and schedules.truth is"
                " redis"
            )

    def _on_disk(self) -> bool:
        """Waits for Redis's disk where nothing else has it."""
        if self._truth.schedules is not None:
            return True
        shelf = self._truth.book.shelf
        with translated():
            timeout = self._settings.redis.timeout
            return until_durable(shelf.redis, f"{shelf.prefix}:durable", timeout=timeout) != NO


def _values(notification: Notification, at: datetime) -> dict[str, Any]:
    """Raises ``InvalidNotification``."""
    if notification.attachments:
        raise InvalidNotification("attachments", "cannot be sent at an instant")
    values = {name: getattr(notification, name) for name in _FIELDS}
    values |= {"at": at, "labels": dict(notification.labels) or None}
    if notification.expires_at is not None:
        if at.utcoffset() is None:
            raise InvalidInput("at: must have a UTC offset")
        values["expires_after"] = (notification.expires_at - at).total_seconds()
        if values["expires_after"] <= 0:
            raise InvalidNotification("expires_at", "is before the instant at which it is sent")
    return {name: value for name, value in values.items() if value is not None}
