"""What all commands share: the configuration, output, and exit codes."""

import getpass
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from notify import provision
from notify.blocklist import Blocklist
from notify.broker import Publisher
from notify.config import Settings, load_settings, settings_directory
from notify.errors import (
    ConfigError,
    NotifyError,
    PublishError,
    TopologyMismatch,
    Unavailable,
    UsageError,
)
from notify.ledger import Ledger
from notify.limits import Limits
from notify.publish import open_publisher
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
    """The configuration, read when a command first needs it, and what is built from it."""

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
    def templates(self) -> Templates:
        directory = self.templates_directory
        if not directory.parent.is_dir():
            raise ConfigError([f"{directory.parent}: there is no such directory"])
        return Templates(directory)

    def ledger(self) -> closing[Ledger]:
        return closing(provision.ledger(self.settings))

    def suppressions(self) -> closing[Suppressions]:
        return closing(provision.suppressions(self.settings))

    def limits(self) -> closing[Limits]:
        return closing(provision.limits(self.settings))

    def blocklist(self) -> closing[Blocklist]:
        return closing(provision.blocklist(self.settings))

    def store(self) -> closing[Store]:
        store = Store(self.settings.archive.url)
        store.create()
        return closing(store)

    def publisher(self) -> closing[Publisher]:
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


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A plain table, as wide as its content where the output is no terminal."""
    width = None if sys.stdout.isatty() else 200
    # What stands in a cell is text, never markup: brackets, as in [fd00::1], are shown.
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table)


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
