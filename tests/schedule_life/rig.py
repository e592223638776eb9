"""A truth, what looks after it, and hands to break Redis."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from notify.config import Settings
from notify.schedule.reconciling import Reconciler, Report
from notify.schedule.spec import ScheduleSpec, parse_spec
from notify.schedule.truth import Truth
from notify.store.occurrences import FIRED, Occurrence

PHONE = "+491701234567"
# A moment of today, so that what is planned around it is neither past nor far.
NOW = datetime.now(UTC).replace(microsecond=0)
HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def spec(name: str, **values: Any) -> ScheduleSpec:
    timed = any(kind in values for kind in ("cron", "every", "at"))
    given: dict[str, Any] = {"channel": "sms", "recipient": PHONE, "body": "Hello"}
    return parse_spec(name, given | ({} if timed else {"every": 3600}) | values, now=NOW)


class Rig:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = Clock()
        self.truth = Truth(settings, clock=self.clock)
        self.book = self.truth.book
        self.raw = redis.Redis.from_url(settings.redis.url, decode_responses=True)
        self.reconciler = self.another()

    def another(self) -> Reconciler:
        """As a beat that has just begun has it."""
        return Reconciler(self.truth, history=30 * 86400, clock=self.clock)

    def look(self, **values: bool) -> dict[str, int]:
        return self.report(**values).findings.counts

    def report(self, **values: bool) -> Report:
        return self.reconciler.look(**values)

    def add(self, *specs: ScheduleSpec) -> None:
        for each in specs:
            self.truth.add(each, "ann")

    def names(self) -> list[str]:
        return [each.name for each in self.book.revisions()]

    def fired(self, name: str, planned: datetime, **values: Any) -> None:
        """In the history only."""
        given: dict[str, Any] = {"actual": self.clock.now, "outcome": FIRED}
        self.truth.history.record([Occurrence(schedule=name, planned=planned, **given | values)])

    def set_aside(self, name: str) -> None:
        """As a beat does it that leads."""
        shelf = self.book.shelf
        version = str(self.raw.hget(shelf.key(name), "v"))
        self.raw.set(shelf.lock, "me")
        assert shelf.quarantine("me", name, version, NOW.timestamp(), "cannot be made")
        self.raw.delete(shelf.lock)

    def keys(self) -> list[str]:
        return sorted(self.raw.scan_iter(f"{self.settings.redis.prefix}:beat:*"))

    def flush(self) -> None:
        """All that the schedules have in Redis."""
        for key in self.keys():
            self.raw.delete(key)

    def copy(self) -> Mapping[str, Any]:
        """As a snapshot of Redis has it."""
        return {key: self.raw.dump(key) for key in self.keys()}

    def bring_back(self, copy: Mapping[str, Any]) -> None:
        self.flush()
        for key, value in copy.items():
            self.raw.restore(key, 0, value)

    def close(self) -> None:
        self.truth.close()
        self.raw.close()
