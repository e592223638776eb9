"""``notify archive``: the database of the dead letters itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from notify.cli.archive_copy import copy
from notify.cli.context import Context, json_option, pass_context, print_json, say
from notify.cli.tables import print_table
from notify.store import SCHEMA, Backup, Filter, Store, inspect_backup

_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.group()
def archive() -> None:
    """The database of the dead letters: its schema, backups, who looked at personal data."""


@archive.command()
@json_option
@pass_context
def version(context: Context, as_json: bool) -> None:
    """Shows the schema of the archive, which changes nothing.

    An archive of an earlier schema is migrated by whatever uses it next.
    """
    with _as_it_is(context) as store:
        found = store.version()
    if as_json:
        print_json({"schema": found, "known": SCHEMA})
        return
    say(f"the archive has {_schema(found)}, this program knows schema {SCHEMA}")


@archive.command()
@_file
@pass_context
def backup(context: Context, file: Path) -> None:
    """Copies the archive into a new file, while it is in use. Only its owner may read it.

    This is for SQLite; of PostgreSQL it says which command of its own makes a backup.
    """
    with context.store() as store:
        store.backup(file)
    say(f"{file}: {_describe(inspect_backup(file))}")


@archive.command()
@_file
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@pass_context
def restore(context: Context, file: Path, yes: bool) -> None:
    """Replaces all that is in the archive by a backup.

    What was there is kept in a file beside the backup. A backup of an earlier schema is migrated.
    This is for SQLite; of PostgreSQL it says which command of its own restores a backup.
    """
    with _as_it_is(context) as store:
        say(f"the backup: {_describe(store.inspect(file))}")
        there = store.version()
        letters = store.count(Filter()) if there == SCHEMA else "unknown"
        say(f"the archive: {_schema(there)}, dead letters: {letters}")
        if not yes:
            say("nothing was changed; repeat with --yes")
            return
        if there is not None:
            saved = file.with_name(f"{file.name}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
            store.backup(saved)
            say(f"what was there is in {saved}")
        store.restore(file)
    say("restored")


@archive.command()
@click.option("--limit", type=click.IntRange(1, 10000), default=50, show_default=True)
@json_option
@pass_context
def reveals(context: Context, limit: int, as_json: bool) -> None:
    """Lists who had recipients or content shown (--reveal), newest first."""
    with context.store() as store:
        found = store.reveals(limit)
    rows = [(f"{each.at:%Y-%m-%d %H:%M:%S}", each.actor, each.what, each.letters) for each in found]
    names = ("at", "by", "command", "letters")
    if as_json:
        print_json({"reveals": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    print_table(("at (UTC)", *names[1:]), rows)


@contextmanager
def _as_it_is(context: Context) -> Iterator[Store]:
    """Without migrating it."""
    store = Store(context.settings.archive.url)
    try:
        yield store
    finally:
        store.close()


def _schema(number: int | None) -> str:
    return "no tables" if number is None else f"schema {number}"


def _describe(found: Backup) -> str:
    latest = ""
    if found.latest is not None:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.latest)
        latest = f", the latest of {time:%Y-%m-%d %H:%M:%S} UTC"
    return f"schema {found.version}, dead letters: {found.letters}{latest}"


archive.add_command(copy)
