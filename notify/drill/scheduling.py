"""Stores the drill's notifications as schedules, each to be fired in two seconds."""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notify.drill.publishing import Publishing
from notify.drill.traffic import Item
from notify.errors import NotifyError
from notify.publish import Client
from notify.schedule import Book, Put, ScheduleSpec, parse_spec
from notify.schedule.spec import ONCE

_AHEAD: Final = timedelta(seconds=2)
_FIELDS: Final = ("channel", "recipient", "priority", "subject", "body")


class Scheduling(Publishing):
    """What Redis has stored counts as published: from then on it is the beats' to fire."""

    def _until_confirmed(self, client: Client, items: Sequence[Item]) -> None:
        at = datetime.now(UTC).replace(microsecond=0) + _AHEAD
        with closing(Book(self._settings)) as book:
            problems = book.put_many(Put(spec=self._spec(item, at)) for item in items)
        if problems:
            raise NotifyError(f"not scheduled: {next(iter(problems.values()))}")
        self.confirmed |= {item.id for item in items}

    def _spec(self, item: Item, at: datetime) -> ScheduleSpec:
        """A one-shot, whose name is the notification's id."""
        made = item.notification(self._http_url).to_dict()
        values: dict[str, Any] = {name: made[name] for name in _FIELDS if name in made}
        return parse_spec(item.id, {"at": at, **values}, origin=ONCE)
