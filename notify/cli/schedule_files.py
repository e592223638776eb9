"""``notify schedule import``, ``export`` and ``restore``."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from heapq import merge
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any, Final

import click

from notify.cli.context import PARTLY, Context, json_option, pass_context, print_json, say, user
from notify.cli.schedule_facts import audience, changed_lines
from notify.cli.schedule_look import note_reveal, reveal_option
from notify.cli.schedule_options import opened
from notify.errors import ConfigError, InvalidInput, NotFound, UsageError
from notify.schedule.files import Filed, Files, folder
from notify.schedule.importing import Differences, apply, compare
from notify.schedule.reconciling import FOREIGN, Reconciler, Report
from notify.schedule.spec import ONCE, ScheduleSpec
from notify.schedule.tomltext import table
from notify.schedule.truth import Truth
from notify.store.schedulerows import Wanted

_SHOWN: Final = 20
_SOME: Final = 500
_WORDS: Final = {
    "missing": "are missing in Redis",
    "stale": "are another version in Redis",
    "state": "are paused in only one of both",
    "behind": "have fired more than Redis knows",
    "removed": "were removed, and Redis has them still",
    "over": "have nothing more to fire",
    "unknown": "are in Redis only, and left alone",
}


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE ...]")
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@reveal_option
@json_option
@pass_context
def import_(
    context: Context, paths: tuple[Path, ...], yes: bool, reveal: bool, as_json: bool
) -> None:
    """Makes the stored schedules what config/schedules/*.toml says; or adds those of FILEs.

    What was stored from a file of the configuration, and is in none any more, is removed.
    FILEs are TOML or JSON Lines, as from "notify schedule export", and remove nothing.
    """
    files = Files(context.settings, context.templates)
    filed = [each for path in paths for each in files.file(path)] if paths else files.folder()
    if files.problems:
        raise InvalidInput("\n".join(files.problems)) if paths else ConfigError(files.problems)
    with opened(context) as truth:
        if reveal:
            note_reveal(context, "schedule import", len(filed))
        found = compare(truth, filed, whole=not paths, reveal=reveal)
        if found.removed and not filed:
            # The wrong directory, more likely than a wish.
            raise UsageError(
                f"{folder(context.settings)}: there are no schedules; would all"
                f" {len(found.removed)} from there be removed? notify schedule remove does that"
            )
        if yes and found:
            apply(truth, found, user())
    if as_json:
        print_json(_import_facts(found) | {"done": yes})
        return
    for line in _import_lines(found):
        say(line)
    if found and not yes:
        say("nothing was changed; repeat with --yes")


def _import_facts(found: Differences) -> dict[str, Any]:
    changed = [
        {
            "name": each.spec.name,
            "changes": [{"key": key, "old": old, "new": new} for key, old, new in each.changes],
        }
        for each in found.changed
    ]
    added = [each.name for each in found.added]
    numbers = {"same": found.same, "over": found.over}
    return {"added": added, "changed": changed, "removed": found.removed, **numbers}


def _import_lines(found: Differences) -> Iterator[str]:
    yield from _capped(found.added, lambda each: [f"+ {_brief(each)}"], "to be added")
    yield from _capped(
        found.changed,
        lambda each: [f"~ {each.spec.name}", *changed_lines(each.changes)],
        "to be changed",
    )
    yield from _capped(found.removed, lambda name: [f"- {name}"], "to be removed")
    if found.over:
        yield f"{len(found.over)} have nothing more to fire, and are left as they are"
    yield (
        f"{len(found.added)} added, {len(found.changed)} changed, {len(found.removed)} removed,"
        f" {found.same} the same"
    )


def _brief(filed: Filed) -> str:
    return f"{filed.name}: {filed.spec.recurrence.describe()}; {audience(filed.spec)}"


def _capped(items: list[Any], lines: Callable[[Any], list[str]], what: str) -> Iterator[str]:
    for item in items[:_SHOWN]:
        yield from lines(item)
    if len(items) > _SHOWN:
        yield f"… and {len(items) - _SHOWN} more {what}"


@click.command()
@click.option("--format", "form", type=click.Choice(["toml", "jsonl"]), help="Default: by OUTPUT.")
@click.option("--output", type=click.Path(path_type=Path), help="A new file (default: here).")
@click.option("--once", is_flag=True, help="Also what send --at has made and was not sent yet.")
@pass_context
def export(context: Context, form: str | None, output: Path | None, once: bool) -> None:
    """Writes all schedules, with recipients and content, for "notify schedule import".

    Who did so is noted. JSON Lines can say everything; TOML has no null.
    """
    as_lines = (form or (output.suffix.lstrip(".") if output else "toml")) == "jsonl"
    with opened(context) as truth:
        note_reveal(context, "schedule export", truth.book.count().stored)
        with _target(output) as write:
            number = 0
            for spec in _all(truth):
                if once or spec.origin != ONCE:
                    write(_line(spec) if as_lines else _toml(spec))
                    number += 1
    if output is not None:
        say(f"{output}: {number} schedules")


def _all(truth: Truth) -> Iterator[ScheduleSpec]:
    """By name, whether the database or only Redis has them."""
    names = (name for name, _ in groupby(merge(_in_database(truth), _in_redis(truth))))
    while some := list(islice(names, _SOME)):
        known = truth.many(some)
        for name in some:
            spec = known.get(name) or _readable(truth, name)
            if spec is not None:
                yield spec


def _in_database(truth: Truth) -> Iterator[str]:
    if truth.schedules is not None:
        yield from (row.name for row in truth.schedules.stream(Wanted()))


def _in_redis(truth: Truth) -> Iterator[str]:
    after = ""
    while names := truth.book.shelf.by_name(after, _SOME):
        yield from names
        after = names[-1]


def _readable(truth: Truth, name: str) -> ScheduleSpec | None:
    with suppress(NotFound):
        try:
            return truth.get(name)
        except InvalidInput as error:
            click.echo(f"{name}: left out: {error}", err=True)
    return None


def _line(spec: ScheduleSpec) -> str:
    return json.dumps(spec.to_dict(), ensure_ascii=False) + "\n"


def _toml(spec: ScheduleSpec) -> str:
    values = {key: value for key, value in spec.to_dict().items() if key not in ("v", "name")}
    if spec.origin != ONCE:
        values.pop("origin", None)
    return table(spec.name, values) + "\n"


@contextmanager
def _target(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Only its owner may read it."""
    if path is None:
        yield lambda text: click.echo(text, nl=False)
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from error
    opened_file: IO[str]
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened_file:
            yield opened_file.write
    except BaseException:
        # A part of it would look like all there is.
        path.unlink(missing_ok=True)
        raise


@click.command()
@click.option("--yes", is_flag=True, help="Do it; without this only show what would be done.")
@click.option(
    "--take-over", is_flag=True, help="Although Redis has the schedules of another database."
)
@json_option
@pass_context
@click.pass_context
def restore(
    command: click.Context, context: Context, yes: bool, take_over: bool, as_json: bool
) -> None:
    """Makes Redis have the schedules that the database has, as the leading beat does.

    They go on where the history ends: what fired is not fired again, and what was missed is
    late. With --take-over, what only Redis has is written into the database.
    """
    settings = context.settings
    if settings.schedules.truth != "database":
        raise ConfigError(['schedules.truth: is "redis": there is nothing to restore from'])
    with opened(context) as truth:
        reconciler = Reconciler(truth, history=settings.schedules.history)
        report = reconciler.restore(dry=not yes, take_over=take_over)
    if report.foreign:
        raise ConfigError([f"schedules: {FOREIGN}; --take-over lets this one have them"])
    _tell(report, yes, as_json)
    command.exit(PARTLY if report.findings.problems else 0)


def _tell(report: Report, done: bool, as_json: bool) -> None:
    found = report.findings
    if as_json:
        counts = {"compared": report.compared, "counts": found.counts}
        print_json({"done": done, **counts, "names": found.names, "problems": found.problems})
        return
    for kind, words in _WORDS.items():
        names = found.names.get(kind, [])
        if names:
            more = " …" if len(names) > _SHOWN else ""
            say(f"{found.counts[kind]} {words}: {', '.join(names[:_SHOWN])}{more}")
    for problem in found.problems.values():
        click.echo(problem, err=True)
    if not found:
        say(f"Redis has all {report.compared} schedules as they should be")
    elif not done:
        say("nothing was changed; repeat with --yes")
