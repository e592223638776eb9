"""A row, and the notification that its values make."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from notify.errors import InvalidInput, InvalidNotification
from notify.notification import VERSION, Notification, parse_instant

VARIABLE: Final = "var."
REQUIRED: Final = ("channel", "recipient")
# Bytes that the encoding does not have arrive as these.
_UNDECODED: Final = re.compile("[\udc80-\udcff]")


class Render(Protocol):
    """Makes a notification of a template's name, its variables, and other fields."""

    def __call__(
        self, template: str, variables: Mapping[str, Any], /, **fields: Any
    ) -> Notification: ...


Normalise = Callable[[str, str], str]
"""A recipient from a channel and what stands in the file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row by the number of its first line: a notification, or what is wrong with it.

    ``column`` is empty where the row as a whole is wrong. No text quotes the file.
    """

    number: int
    notification: Notification | None = None
    column: str = ""
    problem: str = ""

    def error(self, name: str) -> InvalidInput:
        column = f"column {self.column}: " if self.column else ""
        return InvalidInput(f"{name}:{self.number}: {column}{self.problem}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Maker:
    """Makes notifications of values; a row without an id gets ``batch:line``."""

    batch: str
    render: Render | None = None
    normalise: Normalise | None = None

    def row(self, number: int, values: dict[str, Any], variables: Mapping[str, Any]) -> Row:
        """``values`` by the names of a notification's fields, and perhaps ``template``."""
        try:
            made = self._notification(number, values, variables)
        except InvalidNotification as error:
            column = error.field.replace("variables.", VARIABLE, 1)
            return Row(number=number, column=column, problem=error.problem)
        return Row(number=number, notification=made)

    def _notification(
        self, number: int, values: dict[str, Any], variables: Mapping[str, Any]
    ) -> Notification:
        self._normalise(values)
        values = {"id": f"{self.batch}:{number}"} | values
        if "template" in values and self.render is not None:
            return _rendered(values, variables, self.render)
        for name in variables:
            raise InvalidNotification(f"variables.{name}", "needs a template")
        return Notification.from_dict({"v": VERSION} | values)

    def _normalise(self, values: dict[str, Any]) -> None:
        channel, recipient = values.get("channel"), values.get("recipient")
        if self.normalise is not None and isinstance(channel, str) and isinstance(recipient, str):
            values["recipient"] = self.normalise(channel, recipient)


def _rendered(values: dict[str, Any], variables: Mapping[str, Any], render: Render) -> Notification:
    for name in REQUIRED:
        if name not in values:
            raise InvalidNotification(name, "is missing")
    if not isinstance(values["template"], str):
        raise InvalidNotification("template", "must be text")
    if "expires_at" in values:
        values["expires_at"] = parse_instant("expires_at", values["expires_at"])
    return render(values.pop("template"), variables, **values)


def undecoded(text: str) -> bool:
    """Whether it has bytes that are not of the file's encoding."""
    return not text.isascii() and _UNDECODED.search(text) is not None


UNDECODED: Final = "has bytes that are not of this encoding; --encoding names another"
