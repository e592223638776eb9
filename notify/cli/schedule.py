"""``notify schedule``: notifications that are sent at certain times."""

import click

from notify.cli.schedule_files import export, import_, restore
from notify.cli.schedule_fire import fire
from notify.cli.schedule_look import history, list_, preview, quarantine
from notify.cli.schedule_show import show
from notify.cli.schedule_write import add, edit, pause, remove, resume


@click.group()
def schedule() -> None:
    """Notifications that are sent at certain times."""


for command in (
    *(add, edit, pause, resume, remove, fire),
    *(list_, show, preview, history, quarantine),
    *(import_, export, restore),
):
    schedule.add_command(command)
