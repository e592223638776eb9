"""Where the rows of a batch come from: the same ones, in the same order, each time."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from notify.config import Settings
from notify.errors import InvalidNotification
from notify.notification import VERSION, Notification
from notify.publish import prepare
from notify.rows import Row

_LABEL: Final = "batch"


class Source(Protocol):
    """Rows whose numbers grow, with the same notifications and ids each time."""

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Those with a number above ``after``."""
        ...


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a program hands over, numbered from 1, each with the id ``batch:number``."""

    batch: str
    items: Iterable[Notification | Mapping[str, Any]]

    def rows(self, after: int = 0) -> Iterator[Row]:
        for number, item in enumerate(self.items, 1):
            if number > after:
                yield self._row(number, item)

    def _row(self, number: int, item: Notification | Mapping[str, Any]) -> Row:
        id = f"{self.batch}:{number}"
        try:
            if isinstance(item, Notification):
                return Row(number=number, notification=item.evolve(id=id))
            values = {"v": VERSION} | dict(item) | {"id": id}
            return Row(number=number, notification=Notification.from_dict(values))
        except InvalidNotification as error:
            return Row(number=number, column=error.field, problem=error.problem)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The rows of another source as they are to be published, or with why they cannot be.

    A row with an id of its own has the batch as a label, so that it is found by its batch.
    """

    batch: str
    source: Source
    settings: Settings

    def rows(self, after: int = 0) -> Iterator[Row]:
        now = datetime.now(UTC)
        for row in self.source.rows(after):
            yield self._checked(row, now)

    def _checked(self, row: Row, now: datetime) -> Row:
        if row.notification is None:
            return row
        try:
            ready = prepare(self._labelled(row.notification), self.settings, now)
        except InvalidNotification as error:
            return Row(number=row.number, column=error.field, problem=error.problem)
        return Row(number=row.number, notification=ready)

    def _labelled(self, notification: Notification) -> Notification:
        if notification.id.startswith(f"{self.batch}:") or _LABEL in notification.labels:
            return notification
        return notification.evolve(labels={**notification.labels, _LABEL: self.batch})
