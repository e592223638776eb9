"""Which recipients belong to which provider, where recipients are URLs. Pure."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field

from notify.config.types import Strict
from notify.notification import Notification
from notify.recipients import NULL_RECIPIENTS

Host = Annotated[str, Field(pattern=r"^(?:\*\.)?[a-z0-9]([a-z0-9.:-]*[a-z0-9])?$")]


class Match(Strict):
    """URLs of one host, or of those below ``*.domain``; path and query values by their start."""

    host: Host
    path: str = Field(default="/", pattern=r"^/")
    query: dict[str, str] = Field(default_factory=dict)

    def holds(self, url: str) -> bool:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        if _leads_elsewhere(parts.netloc, parts.path):
            return False
        suffix = self.host.removeprefix("*")
        if not (host.endswith(suffix) if suffix != self.host else host == self.host):
            return False
        given = parse_qsl(parts.query, keep_blank_values=True)
        return (parts.path or "/").startswith(self.path) and all(
            _all_start(start, [value for key, value in given if key == name])
            for name, start in self.query.items()
        )


def _leads_elsewhere(netloc: str, path: str) -> bool:
    """Whether host or path are others than they look: whoever sends a request resolves dots,
    and ends the host at a backslash."""
    return "\\" in netloc or any(unquote(step) in (".", "..") for step in path.split("/"))


def _all_start(start: str, values: Sequence[str]) -> bool:
    """Servers differ in which of several values of one name counts."""
    return bool(values) and all(value.startswith(start) for value in values)


class Matching(Protocol):
    """The settings of a provider."""

    @property
    def matches(self) -> Sequence[Match]: ...


_Settings = TypeVar("_Settings", bound=Matching)


def accepts(settings: Matching, notification: Notification) -> bool:
    """Whether a provider can be given this notification at all."""
    matches = settings.matches
    return not matches or any(match.holds(notification.recipient) for match in matches)


def candidates(providers: Sequence[_Settings], notification: Notification) -> list[_Settings]:
    """Who may have it: those whose match holds; where there are none, those without one.

    A robot that fails is not followed by the provider for all other URLs, which would post
    something to the robot that it does not understand. The null recipient is anybody's.
    """
    if notification.recipient in NULL_RECIPIENTS.values():
        return list(providers)
    own = [each for each in providers if each.matches and accepts(each, notification)]
    return own or [each for each in providers if not each.matches]
