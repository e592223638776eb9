"""``notify up`` and ``notify demo``: everything on this machine."""

from pathlib import Path

import click

from notify.cli.context import FAILED, say
from notify.demo import run_demo
from notify.demo.screen import Screen
from notify.up import run_up

_DATA = Path("var")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON at the end.")
@click.option("--data", type=click.Path(path_type=Path), default=_DATA / "demo", show_default=True)
@click.pass_context
def demo(command: click.Context, as_json: bool, data: Path) -> None:
    """Shows the whole job on real servers; exit code 0 when the counts add up."""
    command.exit(0 if run_demo(data, Screen(as_json=as_json)) else FAILED)


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=_DATA / "up", show_default=True)
@click.pass_context
def up(command: click.Context, data: Path) -> None:
    """Runs everything in the foreground: brokers, sandbox, workers, archiver, beat."""
    command.exit(run_up(data, say))
