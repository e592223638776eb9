"""All templates of a configuration directory."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from notify.errors import ConfigError, InvalidNotification
from notify.notification import Notification
from notify.templates.sources import SHARED
from notify.templates.template import Template, load_template

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
# Nobody is behind these: with them a sample is tried as a notification.
_RECIPIENTS: Final = {
    "sms": "+491701234567",
    "email": "ada@example.com",
    "webhook": "https://example.com/hook",
}


class Templates:
    """The templates below a directory, each read when it is first asked for, and once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._loaded: dict[str, Template] = {}

    def names(self) -> list[str]:
        """What is there, whether or not it is valid."""
        entries = _entries(self._directory)
        return [path.name for path in entries if path.is_dir() and _NAME.fullmatch(path.name)]

    def get(self, name: str) -> Template:
        """Raises ``InvalidNotification`` for one that is not there, ``ConfigError`` for a bad one.

        A change on disk is seen by new objects only: all of one run has one version.
        """
        if name not in self._loaded:
            if name not in self.names():
                known = ", ".join(self.names()) or "none"
                raise InvalidNotification("template", f"there is no such template; known: {known}")
            folder = self._directory / name
            self._loaded[name] = load_template(folder, self._directory / SHARED)
        return self._loaded[name]


def check_templates(directory: Path) -> list[str]:
    """Every problem of every template, with file and line; each is rendered with its samples."""
    problems = []
    for path in _entries(directory):
        if path.name == SHARED:
            continue
        if not path.is_dir() or not _NAME.fullmatch(path.name):
            problems.append(f"{path}: is not a directory named by a-z, 0-9, '_' and '-'")
            continue
        try:
            template = load_template(path, directory / SHARED)
        except ConfigError as error:
            problems.extend(error.problems)
        else:
            problems.extend(f"{path}: {problem}" for problem in _tried(template))
    return problems


def _entries(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if not path.name.startswith("."))


def _tried(template: Template) -> Iterator[str]:
    """With all samples, then with none for what may be left out."""
    required = {name for name, variable in template.variables.items() if variable.required}
    fewest = {name: value for name, value in template.samples.items() if name in required}
    for channel in template.channels:
        for values, which in ((template.samples, "its samples"), (fewest, "the required samples")):
            try:
                _sample(template, channel, values)
            except InvalidNotification as error:
                yield f"{channel} with {which}: {error}"
                break


def _sample(template: Template, channel: str, values: Mapping[str, Any]) -> Notification:
    rendered = template.render(channel, values)
    return Notification(
        channel=channel,
        recipient=_RECIPIENTS[channel],
        subject=rendered.subject,
        body=rendered.body,
        html=rendered.html,
        data=rendered.data,
    )
