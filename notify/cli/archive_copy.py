"""``notify archive copy``: from SQLite to PostgreSQL, and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from notify.cli.bars import Bar
from notify.cli.context import Context, json_option, pass_context, print_json, say
from notify.cli.tables import print_table
from notify.config import archive_url
from notify.store import Store

_SQLITE: Final = "sqlite:///"


@click.command()
@click.option("--to", required=True, metavar="URL", help="Like archive.url in notify.toml.")
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Of PostgreSQL; so that it is not in URL.",
)
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
def copy(
    context: Context, /, to: str, password_file: Path | None, yes: bool, as_json: bool
) -> None:
    """Copies all that is in the archive into an empty database: everything, or nothing.

    Stop the archiver before, since what it adds meanwhile stays behind; letters wait in RabbitMQ.
    A copy that was interrupted has left nothing behind: start it again. The archive itself is
    not changed; then set archive.url, and start the archiver.
    """
    url = archive_url(to, password_file)
    with context.store() as source:
        found = source.content()
        if yes or not _is_missing(to):
            with _target(url) as target:
                target.check_empty()
                found = _copy(source, target, found, quiet=as_json) if yes else found
    _report(found, _place(to), done=yes, as_json=as_json)


def _report(rows: dict[str, int], place: str, *, done: bool, as_json: bool) -> None:
    total = sum(rows.values())
    if as_json:
        print_json({"done": done, "target": place, "total": total, "rows": rows})
        return
    print_table(("table", "rows"), list(rows.items()))
    if done:
        say(f"{total} rows were copied, and counted in the end")
        say(f"now set archive.url for {place}")
    else:
        say(f"{total} rows would be copied to {place}")
        say("nothing was changed; repeat with --yes")


def _copy(source: Store, target: Store, found: dict[str, int], quiet: bool) -> dict[str, int]:
    done = 0
    with Bar("rows", sum(found.values())) as bar:

        def told(_: str, rows: int) -> None:
            nonlocal done
            done += rows
            if not quiet and bar.due():
                bar.show(done)

        return source.copy_to(target, told)


@contextmanager
def _target(url: str) -> Iterator[Store]:
    store = Store(url)
    try:
        yield store
    finally:
        store.close()


def _is_missing(url: str) -> bool:
    """A file of SQLite that must not be made only to find it empty."""
    name = url.partition("?")[0].removeprefix(_SQLITE)
    return url.startswith(_SQLITE) and not Path(name).exists()


def _place(url: str) -> str:
    """Without the password."""
    parts = urlsplit(url)
    if not parts.hostname:
        return url.partition("?")[0]
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"
