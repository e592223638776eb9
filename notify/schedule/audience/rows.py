"""The rows of an audience: counted first, and the same ones each time they are read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, BinaryIO, Final

from notify.batch import FileSource, Source
from notify.errors import InvalidNotification
from notify.notification import Notification
from notify.rows import Maker, Row, bounded, read_objects, read_table
from notify.schedule.audience.order import FanOrder
from notify.schedule.spec import stamped

# A row's own id, under which others may know it.
_OWN_ID: Final = "row"
_MADE: Final = "made"
_VALUES: Final = "values"
_PROBLEM: Final = "problem"
# ``created_at`` is that of the firing; who generates rows may give another one each time.
_NOT_KEPT: Final = ("id", "created_at")

Item = Notification | Mapping[str, Any]


class PeopleFile(FileSource):
    """A file that somebody wrote; ``batch`` is what rows without an id have theirs from."""

    def count(self, still: Callable[[], None]) -> int:
        """Its rows, right or wrong. ``still`` is called at each. Raises ``InvalidInput`` where
        no row can be told from the next."""
        maker, defaults = _Passing(batch=self.batch), self._spec.defaults
        with self._text() as (text, is_json):
            lines = bounded(text)
            if is_json:
                return _length(read_objects(lines, maker, defaults=defaults), still)
            return _length(read_table(lines, self.name, maker, defaults=defaults), still)


class GeneratedRows(FileSource):
    """What a function gave, as ``write_rows`` has written it down: one row a line."""

    def count(self, still: Callable[[], None]) -> int:
        with self._text() as (text, _):
            return _length(text, still)

    def rows(self, after: int = 0) -> Iterator[Row]:
        maker = Maker(batch=self.batch, render=self._render, normalise=self._normalise)
        with self._text() as (text, _):
            for number, line in enumerate(text, 1):
                if number > after:
                    yield self._row(number, json.loads(line), maker)

    def _row(self, number: int, written: Mapping[str, Any], maker: Maker) -> Row:
        if _PROBLEM in written:
            return Row(number=number, problem=written[_PROBLEM])
        if _MADE in written:
            values = written[_MADE] | {"id": f"{self.batch}:{number}"}
            try:
                return Row(number=number, notification=Notification.from_dict(values))
            except InvalidNotification as error:
                # It was valid for the version that wrote it.
                return Row(number=number, column=error.field, problem=error.problem)
        text = json.dumps(written[_VALUES])
        (row,) = read_objects([text], maker, defaults=self._spec.defaults)
        return replace(row, number=number)


def write_rows(items: Iterable[Any], file: BinaryIO, still: Callable[[], None]) -> None:
    """Notifications, or what a line of JSON Lines may say; only one is in memory at a time."""
    for item in items:
        still()
        file.write(json.dumps(_written(item), sort_keys=True).encode() + b"\n")


def _written(item: Any) -> dict[str, Any]:
    if isinstance(item, Notification):
        values = {k: v for k, v in item.to_dict().items() if k not in _NOT_KEPT}
        return {_MADE: values}
    if not isinstance(item, Mapping):
        return {_PROBLEM: "is neither a notification nor a mapping"}
    values = {k: v for k, v in item.items() if k != "id"}
    try:
        # What cannot be JSON is found here, while it can still be told as a row's problem.
        return {_VALUES: json.loads(json.dumps(values, default=_plain))}
    except (TypeError, ValueError, RecursionError):
        return {_PROBLEM: "has a value that JSON does not have"}


def _plain(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError


@dataclass(frozen=True, kw_only=True)
class Stamped:
    """The rows of another source as those of one firing.

    Each has the id ``batch:number``: the same row of the next firing is another notification.
    An id of its own becomes its label ``row``.
    """

    order: FanOrder
    source: Source

    def rows(self, after: int = 0) -> Iterator[Row]:
        for row in self.source.rows(after):
            yield self._stamped(row)

    def _stamped(self, row: Row) -> Row:
        made = row.notification
        if made is None:
            return row
        order, id = self.order, f"{self.order.batch}:{row.number}"
        try:
            if made.id != id and isinstance(self.source, PeopleFile):
                made = made.evolve(labels={**made.labels, _OWN_ID: made.id})
            ready = stamped(order.spec, _with_id(made, id), order.planned, order.actual)
        except InvalidNotification as error:
            return Row(number=row.number, column=error.field, problem=error.problem)
        return Row(number=row.number, notification=ready)


def _with_id(made: Notification, id: str) -> Notification:
    return made if made.id == id else made.evolve(id=id)


class _Passing(Maker):
    """Makes nothing of a row."""

    def row(self, number: int, values: dict[str, Any], variables: Mapping[str, Any]) -> Row:
        return Row(number=number)


def _length(items: Iterable[Any], still: Callable[[], None]) -> int:
    count = 0
    for _ in items:
        count += 1
        still()
    return count
