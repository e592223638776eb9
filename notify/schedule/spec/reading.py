"""A schedule from what a person wrote: in a TOML file, as options, or as JSON to import."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeVar

from notify.batch import FileSpec
from notify.config.types import parse_duration
from notify.errors import ConfigError, InvalidInput, InvalidNotification, UsageError
from notify.recurrence import KEYS, Misfire, Recurrence, parse_misfire, parse_recurrence, shown_key
from notify.schedule.spec.audience import is_name
from notify.schedule.spec.content import content_problems, plain, unkept
from notify.schedule.spec.making import notification
from notify.schedule.spec.value import CONTENT, ONCE, ORIGINS, VERSION, Audience, ScheduleSpec
from notify.templates import Templates

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
AUDIENCES: Final = ("recipient", "file", "python")
_OTHERS: Final = ("misfire", "jitter", "spread", "paused", "note")
_NOT_FOR_MANY: Final = ("data", "attachments")
_LONGEST: Final = 86400.0
_LONGEST_NOTE: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_WAITS_LOOKED_AT: Final = 100
_Value = TypeVar("_Value")
Normalise = Callable[[str, str], str]


def parse_spec(
    name: str,
    values: Mapping[str, Any],
    *,
    normalise: Normalise | None = None,
    templates: Templates | None = None,
    origin: str = "command",
    now: datetime | None = None,
) -> ScheduleSpec:
    """Reads a schedule; whatever can be known to be wrong is refused here.

    Keys: those of a recurrence; ``misfire``, ``jitter``, ``spread``, ``paused``, ``note``; one
    of ``recipient``, ``file`` and ``python``; and ``channel``, ``priority``, ``subject``,
    ``body``, ``html``, ``data``, ``unsubscribe``, ``template``, ``variables``,
    ``attachments`` (in their JSON form), ``labels``, ``expires_after``. ``normalise`` makes a
    recipient of a channel and what was written; with ``templates`` the content is rendered
    once, to see that it can be. What ``to_dict`` writes is read as well.

    Raises ``InvalidInput`` with a line for each problem, which names the key and quotes
    nothing that is for the recipient.
    """
    at = datetime.now(UTC) if now is None else now
    return _Reader(name, values, origin, normalise, templates, at).read()


class _Reader:
    def __init__(
        self,
        name: str,
        values: Mapping[str, Any],
        origin: str,
        normalise: Normalise | None,
        templates: Templates | None,
        now: datetime,
    ) -> None:
        if not isinstance(values, Mapping):
            raise InvalidInput("schedule: must be an object")
        self.name = name
        self.values = {key: value for key, value in values.items() if value is not None}
        self.origin = self.values.pop("origin", origin)
        self.normalise = normalise
        self.templates = templates
        self.now = now
        self.problems: list[str] = []

    def read(self) -> ScheduleSpec:
        """Raises ``InvalidInput``."""
        self._check_keys()
        if problems := [*unkept(self.values)]:
            raise InvalidInput("\n".join([*self.problems, *problems]))
        recurrence = self._tried(self._recurrence)
        audience = self._tried(self._audience)
        content = self._tried(self._content)
        misfire = self._tried(lambda: parse_misfire(self.values.get("misfire", {})))
        if recurrence and audience and content is not None and misfire and not self.problems:
            spec = self._made(recurrence, audience, content, misfire)
            self._check(spec)
        if self.problems:
            raise InvalidInput("\n".join(self.problems))
        return spec

    def _check_keys(self) -> None:
        named = isinstance(self.name, str) and NAME.fullmatch(self.name)
        # Otherwise the name is the id of what is sent, which is checked with that.
        if not named and self.origin != ONCE:
            self.problems.append("name: must be 1 to 64 lower-case letters, digits, '_' or '-'")
        if self.values.pop("v", VERSION) != VERSION:
            self.problems.append(f"v: must be {VERSION}: another version of Notify wrote this")
        if self.values.pop("name", self.name) != self.name:
            self.problems.append("name: differs from what this schedule is called")
        if self.origin not in ORIGINS:
            self.problems.append(f"origin: must be one of {', '.join(ORIGINS)}")
        known = {*KEYS, *AUDIENCES, *CONTENT, *_OTHERS}
        for key in self.values.keys() - known:
            self.problems.append(f"{shown_key(key)}: unknown key")

    def _tried(self, read: Callable[[], _Value]) -> _Value | None:
        try:
            return read()
        except (InvalidInput, InvalidNotification) as error:
            self.problems.extend(str(error).split("\n"))
            return None

    def _recurrence(self) -> Recurrence:
        given = {key: self.values[key] for key in KEYS if key in self.values}
        return parse_recurrence(given, now=self.now)

    def _audience(self) -> Audience:
        given = [key for key in AUDIENCES if key in self.values]
        if len(given) != 1:
            raise InvalidInput("recipient, file, python: exactly one of them must be given")
        value = self.values[given[0]]
        if given == ["file"]:
            return _file(value)
        if given == ["python"]:
            if not is_name(value):
                raise InvalidInput("python: must be like package.module:function")
            return Audience(python=value)
        if not isinstance(value, str):
            raise InvalidInput("recipient: must be text")
        channel = self.values.get("channel")
        if self.normalise is not None and isinstance(channel, str):
            value = self.normalise(channel, value)
        return Audience(recipient=value)

    def _content(self) -> dict[str, Any]:
        content = {key: plain(self.values[key]) for key in CONTENT if key in self.values}
        if "expires_after" in content:
            content["expires_after"] = self._duration("expires_after", 366 * _LONGEST)
        self.problems.extend(content_problems(content))
        return content

    def _made(
        self,
        recurrence: Recurrence,
        audience: Audience,
        content: dict[str, Any],
        misfire: Misfire,
    ) -> ScheduleSpec:
        return ScheduleSpec(
            name=self.name,
            recurrence=recurrence,
            audience=audience,
            content=content,
            misfire=misfire,
            jitter=self._tried(lambda: self._duration("jitter", _LONGEST)) or 0.0,
            spread=self._tried(lambda: self._duration("spread", _LONGEST)) or 0.0,
            paused=self._flag("paused"),
            note=self._note(),
            origin=self.origin,
        )

    def _duration(self, key: str, longest: float) -> float:
        try:
            seconds = parse_duration(self.values.get(key, 0))
        except ValueError as error:
            raise InvalidInput(f"{key}: {error}") from None
        if not 0 <= seconds <= longest:
            raise InvalidInput(f"{key}: must be at most {longest / _LONGEST:g} days")
        return seconds

    def _flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            self.problems.append(f"{key}: must be true or false")
        return value is True

    def _note(self) -> str:
        note = self.values.get("note", "")
        if not isinstance(note, str) or len(note) > _LONGEST_NOTE or _CONTROL.search(note):
            self.problems.append(f"note: must be one line of at most {_LONGEST_NOTE} characters")
            return ""
        return note

    def _check(self, spec: ScheduleSpec) -> None:
        self._check_delays(spec)
        if spec.audience.recipient is not None:
            self._check_notification(spec)
            return
        for key in _NOT_FOR_MANY:
            if key in spec.content:
                self.problems.append(f"{key}: is not for an audience; its rows have their own")

    def _check_delays(self, spec: ScheduleSpec) -> None:
        smallest = spec.recurrence.smallest_gap
        if smallest is not None and spec.jitter + spec.spread >= smallest:
            key = "spread" if spec.spread else "jitter"
            self.problems.append(f"{key}: must be shorter than {smallest:g} s, the next may follow")
        if spec.spread and spec.audience.recipient is not None:
            self.problems.append("spread: is for audiences; one recipient may have a jitter")
        expires = spec.content.get("expires_after")
        if expires is not None and expires <= self._longest_wait(spec) + spec.spread:
            self.problems.append(
                "expires_after: must be longer than jitter, spread and quiet hours put it off"
            )

    def _longest_wait(self, spec: ScheduleSpec) -> float:
        """Seconds from planned to due, of the next that there are."""
        recurrence = spec.recurrence
        planned = islice(
            recurrence.between(self.now, datetime.max.replace(tzinfo=UTC)), _WAITS_LOOKED_AT
        )
        waits = ((recurrence.due(each) - each).total_seconds() for each in planned)
        return max(waits, default=0.0) + spec.jitter

    def _check_notification(self, spec: ScheduleSpec) -> None:
        if "channel" not in spec.content:
            self.problems.append("channel: is required")
        elif "template" not in spec.content or self.templates is not None:
            try:
                notification(spec, self.now, self.now, self.templates)
            except (InvalidNotification, ConfigError) as error:
                self.problems.append(str(error))


def _file(value: Any) -> Audience:
    given = {"path": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or not {"path"} <= given.keys() <= {"path", "encoding"}:
        raise InvalidInput("file: must be a path, or a table with path and encoding")
    path, encoding = given["path"], given.get("encoding", "")
    if not isinstance(path, str) or not path or "\0" in path or path == "-":
        raise InvalidInput("file: must be the path of a file")
    try:
        FileSpec(path=path, encoding=encoding).check()
    except (UsageError, TypeError):
        raise InvalidInput("file.encoding: is no encoding of text that is known here") from None
    return Audience(file=path, encoding=encoding)
