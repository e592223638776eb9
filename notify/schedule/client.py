"""Schedules from Python: ``Schedules``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from notify.config import Settings
from notify.notification import Notification
from notify.schedule.audiences import Audiences
from notify.schedule.checking import read_schedule
from notify.schedule.once import Once, OneShots
from notify.schedule.truth import Truth
from notify.templates import Templates


class Schedules:
    """Writes schedules; a beat fires them. One per process is enough.

    with Schedules(load_settings()) as schedules:
        schedules.send_at(notification, datetime(2027, 3, 1, 9, tzinfo=ZoneInfo("Europe/Berlin")))
        schedules.add("standup", {"cron": "0 9 * * 1-5", "zone": "Europe/Berlin", ...})

    ``actor`` is who is noted as their author. Methods raise ``InvalidInput`` naming the key,
    ``NotFound``, ``StoreUnavailable`` and ``LedgerUnavailable``.
    """

    def __init__(self, settings: Settings, *, actor: str = "") -> None:
        self._settings = settings
        self._actor = actor
        self._templates = Templates(settings.templates)
        self._audiences = Audiences(settings)
        self._truth = Truth(settings, fanout=self._audiences)
        self._once = OneShots(settings, self._truth, self._templates)

    def send_at(self, notification: Notification, at: datetime) -> Once:
        """Sends it then. It is stored durably when this returns.

        The same id for the same time and content again changes nothing and gets the same
        answer; for others it raises ``InvalidInput``. Refused are an instant without an offset,
        one in the past, and one more than five years ahead.
        """
        return self._once.add_notification(notification, at, self._actor)

    def cancel(self, id: str) -> None:
        """A notification that was to be sent at an instant is not sent."""
        self._once.cancel(id, self._actor)

    def add(self, name: str, values: Mapping[str, Any]) -> None:
        """``values`` are those of a table in ``config/schedules/*.toml``."""
        spec = read_schedule(self._settings, self._templates, name, values)
        self._truth.add(spec, self._actor)

    def pause(self, name: str) -> None:
        self._truth.pause(name, self._actor)

    def resume(self, name: str) -> None:
        """Nothing that was planned meanwhile is fired."""
        self._truth.resume(name, self._actor)

    def remove(self, name: str) -> None:
        self._truth.remove(name, self._actor)

    def close(self) -> None:
        self._truth.close()
        self._audiences.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
