"""A schedule as it is kept: when, for whom and what, as one frozen value."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, Self

from notify.errors import InvalidInput
from notify.recurrence import KEYS, Misfire, Recurrence, jitter, parse_misfire

VERSION: Final = 1
COMMAND: Final = "command"
FILE: Final = "file"
ONCE: Final = "once"
ORIGINS: Final = (COMMAND, FILE, ONCE)
CONTENT: Final[tuple[str, ...]] = (
    *("channel", "priority", "subject", "body", "html", "data", "unsubscribe"),
    *("template", "variables", "attachments", "labels", "expires_after"),
)
# Where it is from, what somebody wrote beside it and whether it rests: not what it does.
_BESIDE: Final = ("origin", "note", "paused")


@dataclass(frozen=True, kw_only=True, slots=True)
class Audience:
    """Exactly one of a ``recipient``, a ``file`` of rows, and a ``python`` function.

    The file is CSV or JSON Lines in ``encoding`` (UTF-8 without one); the function is written
    package.module:function.
    """

    recipient: str | None = None
    file: str | None = None
    encoding: str = ""
    python: str | None = None

    def to_dict(self) -> dict[str, Any]:
        if self.file is not None and self.encoding:
            return {"file": {"path": self.file, "encoding": self.encoding}}
        given = {"recipient": self.recipient, "file": self.file, "python": self.python}
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        file = values.get("file")
        if isinstance(file, Mapping):
            return cls(file=file["path"], encoding=file.get("encoding", ""))
        return cls(
            **{name: values[name] for name in ("recipient", "file", "python") & values.keys()}
        )


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec:
    """Made by ``parse_spec``, which checks everything.

    ``jitter`` and ``spread`` are seconds: by up to ``jitter`` each firing is put off, always by
    as much for the same one, and over ``spread`` the rows of an audience are distributed.
    ``content`` has the fields of a notification, or ``template`` and ``variables``; what is
    sent expires ``expires_after`` seconds after its planned instant. Rows of an audience may
    have their own instead. With ``origin`` "once" it is one notification to be sent once,
    and its name is the notification's id.
    """

    name: str
    recurrence: Recurrence
    audience: Audience
    content: Mapping[str, Any] = field(default_factory=dict)
    misfire: Misfire = field(default_factory=Misfire)
    jitter: float = 0.0
    spread: float = 0.0
    paused: bool = False
    note: str = ""
    origin: str = COMMAND

    def evolve(self, **changes: Any) -> Self:
        """A copy with other values, which are not checked."""
        return replace(self, **changes)

    def delay(self, planned: datetime) -> float:
        """Seconds by which this firing is put off: what ``plan`` takes."""
        # The same for all that wait for the same end of quiet hours: the latest has precedence.
        return jitter(self.name, self.recurrence.earliest(planned), self.jitter)

    def due(self, planned: datetime) -> datetime:
        """When this firing is due: after its delay, and after quiet hours."""
        return self.recurrence.due(planned, self.delay(planned))

    def expires_at(self, planned: datetime) -> datetime | None:
        """After this, nothing of that firing is sent, and it need not be fired."""
        seconds = self.content.get("expires_after")
        return None if seconds is None else planned + timedelta(seconds=seconds)

    @cached_property
    def revision(self) -> str:
        """128 bits over what it does: not its origin or note, nor whether it is paused."""
        values = {k: v for k, v in self.to_dict().items() if k not in _BESIDE}
        text = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """The versioned JSON form; what is not given is left out. ``parse_spec`` reads it too."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("recurrence", "audience", "content"):
            del given[name]
        given["misfire"] = self.misfire.to_dict()
        kept = {name: value for name, value in given.items() if value not in (None, "", 0, False)}
        return {
            "v": VERSION,
            **kept,
            **self.recurrence.to_dict(),
            **self.audience.to_dict(),
            **self.content,
        }

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Reads what ``to_dict`` wrote. Raises ``InvalidInput`` for anything else."""
        if not isinstance(values, Mapping):
            raise InvalidInput("schedule: must be an object")
        if values.get("v") != VERSION:
            raise InvalidInput(f"v: must be {VERSION}: another version of Notify wrote this")
        try:
            return cls(**_restored(values))
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(f"schedule: cannot be read: {type(error).__name__}") from error


def _restored(values: Mapping[str, Any]) -> dict[str, Any]:
    audience = ("recipient", "file", "python")
    own = {item.name for item in fields(ScheduleSpec)}
    known = {"v", *own, *KEYS, *CONTENT, *audience} - {"recurrence", "audience", "content"}
    if not values.keys() <= known:
        raise InvalidInput("schedule: has a key that is not known")
    if sum(name in values for name in audience) != 1:
        raise InvalidInput("schedule: must have exactly one audience")
    given = {name: values[name] for name in own & values.keys()}
    return given | {
        "recurrence": Recurrence.from_dict({k: values[k] for k in KEYS if k in values}),
        "audience": Audience.from_dict(values),
        "content": {k: values[k] for k in CONTENT if k in values},
        "misfire": parse_misfire(values["misfire"]),
    }
