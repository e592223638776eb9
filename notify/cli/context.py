"""What all commands share: the configuration, output, and exit codes."""

import getpass
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from notify.config import Settings, load_settings, settings_directory
from notify.errors import (
    ConfigError,
    NotifyError,
    PublishError,
    TopologyMismatch,
    Unavailable,
    UsageError,
)

if TYPE_CHECKING:
    from notify.blocklist import Blocklist
    from notify.broker import Publisher
    from notify.ledger import Ledger
    from notify.limits import Limits
    from notify.store import Store
    from notify.suppressions import Suppressions
    from notify.templates import Templates

FAILED: Final = 1
PARTLY: Final = 5
_CODES: Final = (
    (UsageError, 2),
    (ConfigError, 3),
    (TopologyMismatch, 3),
    (Unavailable, 4),
    (PublishError, 4),
)


class Context:
    """The configuration, read when a command first needs it, and what is built from it.

    What a command opens is imported then: a process that lives long, such as a worker, would
    else hold the database, the templates and the rest of it in memory and never use it.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    @property
    def directory(self) -> Path | None:
        """As the option says; None where it says nothing."""
        return self._directory

    @cached_property
    def settings(self) -> Settings:
        return load_settings(self._directory)

    @property
    def templates_directory(self) -> Path:
        """Known without the settings: templates need no server and no secret."""
        return settings_directory(self._directory) / "templates"

    @cached_property
    def templates(self) -> "Templates":
        from notify.templates import Templates

        directory = self.templates_directory
        if not directory.parent.is_dir():
            raise ConfigError([f"{directory.parent}: there is no such directory"])
        return Templates(directory)

    def ledger(self) -> "closing[Ledger]":
        from notify import provision

        return closing(provision.ledger(self.settings))

    def suppressions(self) -> "closing[Suppressions]":
        from notify import provision

        return closing(provision.suppressions(self.settings))

    def limits(self) -> "closing[Limits]":
        from notify import provision

        return closing(provision.limits(self.settings))

    def blocklist(self) -> "closing[Blocklist]":
        from notify import provision

        return closing(provision.blocklist(self.settings))

    def store(self) -> "closing[Store]":
        from notify.store import Store

        store = Store(self.settings.archive.url)
        store.create()
        return closing(store)

    def publisher(self) -> "closing[Publisher]":
        from notify.publishcount import open_publisher

        return closing(open_publisher(self.settings))


pass_context = click.make_pass_decorator(Context)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def user() -> str:
    """Who runs this; nothing for a user without a name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def say(text: str) -> None:
    click.echo(text)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def pairs(values: Sequence[str], option: str) -> Mapping[str, str]:
    """``NAME=VALUE`` options as a mapping. Raises ``UsageError``."""
    found = {}
    for value in values:
        name, separator, text = value.partition("=")
        if not separator:
            raise UsageError(f"{option}: must be NAME=VALUE")
        found[name] = text
    return found


def exit_code(error: NotifyError) -> int:
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
