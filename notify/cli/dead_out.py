"""``notify dead export`` and ``purge``: how letters leave the archive."""

import csv
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TextIO

import click

from notify.care.retention import plans
from notify.cli.context import (
    Context,
    json_option,
    pass_context,
    print_json,
    say,
    user,
)
from notify.cli.dead_find import chosen, filter_options, reveal_option
from notify.cli.tables import print_table
from notify.config.types import parse_duration
from notify.deadstory import EXPORTED, export_facts, export_line
from notify.errors import InvalidInput, UsageError
from notify.store import ArchivedLetter, Purge

_NUMBER: Final = re.compile(r"\+[0-9*]+")
# Somebody may still want to send what is open.
_OPEN_DAYS: Final = 30


@click.command()
@filter_options
@click.option("--format", "style", type=click.Choice(["jsonl", "csv"]), default="jsonl")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True)
@reveal_option
@pass_context
def export(context: Context, /, style: str, output: Path, reveal: bool, **wanted: Any) -> None:
    """Writes dead letters into a file, newest first: one JSON object a line, or CSV.

    The file takes its name when it is complete, and only its owner may read it. With --reveal
    it holds recipients and content.
    """
    meant = chosen(wanted, limit=None)
    with context.store() as store:
        if reveal:
            store.note_reveal(user(), f"dead export --format {style}", store.count(meant))
        with _complete(output) as file:
            write = _write_csv if style == "csv" else _write_lines
            number = write(file, store.stream(meant), reveal)
    say(f"{number} dead letters in {output}")


def _write_lines(file: TextIO, rows: Iterable[ArchivedLetter], reveal: bool) -> int:
    number = 0
    for row in rows:
        number += 1
        file.write(json.dumps(export_facts(row, reveal), ensure_ascii=True, default=str) + "\n")
    return number


def _write_csv(file: TextIO, rows: Iterable[ArchivedLetter], reveal: bool) -> int:
    number, writer = 0, csv.writer(file)
    writer.writerow(EXPORTED)
    for row in rows:
        number += 1
        writer.writerow(map(_cell, export_line(row, reveal)))
    return number


def _cell(value: Any) -> str:
    """Nothing that a spreadsheet would run as a formula; a phone number, masked or not, stays
    what it is."""
    text = "" if value is None else str(value).encode(errors="replace").decode()
    runs = text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") and not _NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


@contextmanager
def _complete(output: Path) -> Iterator[TextIO]:
    """A file that is there as a whole or not at all."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.absolute().parent)
        path = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            path.replace(output)
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(f"{output}: cannot be written: {error.strerror}") from error


@click.command()
@filter_options
@click.option("--older-than", metavar="AGE", help='Such as "90d".')
@click.option("--keep", type=click.IntRange(0), help="Keep so many of the newest.")
@click.option("--open", "open_too", is_flag=True, help=f"Open ones under {_OPEN_DAYS} days too.")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@json_option
@pass_context
def purge(
    context: Context,
    /,
    older_than: str | None,
    keep: int | None,
    open_too: bool,
    yes: bool,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Deletes dead letters for good: those that are old, or beyond a number, or both.

    With both, the newest are kept however old they are. Open letters that died within 30 days
    stay without --open. Without --older-than and --keep it is what [archive] in notify.toml
    says, which the archiver does by itself.
    """
    now = datetime.now(UTC)
    if older_than is None and keep is None:
        if open_too or any(value not in (None, ()) for value in wanted.values()):
            raise UsageError("say which: --older-than, --keep or both")
        _purge(context, _configured(context, now), yes, as_json)
        return
    plan = Purge(
        wanted=chosen(wanted),
        before=None if older_than is None else now - _age(older_than),
        keep=keep,
        open_before=None if open_too else now - timedelta(days=_OPEN_DAYS),
    )
    _purge(context, [plan], yes, as_json)


def _configured(context: Context, now: datetime) -> list[Purge]:
    settings = context.settings.archive
    if not settings.limited:
        raise UsageError(
            "say which: --older-than, --keep or both; archive.keep and archive.keep_most are"
            " not configured"
        )
    return plans(settings, now)


def _purge(context: Context, wanted: list[Purge], yes: bool, as_json: bool) -> None:
    with context.store() as store:
        counts = store.doomed(*wanted)
        number = sum(map(store.purge, wanted)) if yes else sum(counts.values())
    if as_json:
        print_json({"done": yes, "letters": number, "by_reason": counts})
        return
    print_table(["reason", "letters"], [[reason, found] for reason, found in counts.items()])
    say(f"{number} deleted" if yes else f"{number} would be deleted; repeat with --yes")


def _age(text: str) -> timedelta:
    try:
        return min(timedelta(seconds=parse_duration(text)), timedelta(days=36500))
    except (ValueError, OverflowError):
        raise UsageError('--older-than: must be a time such as "90d"') from None
