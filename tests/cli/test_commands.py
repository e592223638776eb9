"""The table of commands agrees with the commands, and none is loaded before it is needed."""

import subprocess
import sys

import click
import pytest

from notify.cli.main import cli
from tests.deployment import ROOT

WIDE = 1000


def helped(width: int) -> str:
    context = click.Context(cli, info_name="notify", terminal_width=width, max_content_width=width)
    return cli.get_help(context)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_the_table_has_the_command_and_its_help(name: str) -> None:
    command = cli.commands[name]
    assert command.name == name
    (line,) = (line for line in helped(WIDE).splitlines() if line.split()[:1] == [name])
    assert line.split(maxsplit=1)[1] == command.get_short_help_str(WIDE)


def test_the_help_is_what_click_would_print() -> None:
    """Shortened, too, where the terminal is narrow."""
    plain = click.Group(
        "notify", dict(cli.commands), params=cli.params, help=cli.help, epilog=cli.epilog
    )
    context = click.Context(
        plain, info_name="notify", terminal_width=60, help_option_names=["-h", "--help"]
    )
    listed = plain.get_help(context).partition("Commands:")[2]
    assert listed
    assert helped(60).partition("Commands:")[2] == listed


def test_what_is_no_command_is_none() -> None:
    assert "lost" not in cli.commands
    assert cli.get_command(click.Context(cli), "lost") is None


def loaded(script: str) -> set[str]:
    """The modules that Python has after the script."""
    script += "\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    return set(ran.stderr.split())


def test_the_help_loads_no_command() -> None:
    found = loaded("from notify.cli.main import cli\ncli.main(['--help'], standalone_mode=False)\n")
    ours = {name for name in found if name.startswith("notify.cli.")}
    assert ours == {"notify.cli.commands", "notify.cli.context", "notify.cli.main"}


def test_one_notification_loads_neither_the_archive_nor_the_schedules() -> None:
    found = loaded("import notify.cli.send")
    assert {"notify.publish", "notify.broker"} <= found
    needless = {"alembic", "celery", "redbeat", "redis", "rich", "sqlalchemy"}
    assert found & (needless | {"notify.batch", "notify.schedule", "notify.store"}) == set()
