"""``notify send --file``: a file of notifications as a batch."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from notify.batch import (
    Account,
    Checked,
    FileSource,
    FileSpec,
    check,
    check_name,
    lives,
    open_batches,
    open_file,
    run,
    where,
)
from notify.batch.estimate import estimate
from notify.batch.files import STDIN
from notify.cli.bars import Bar, duration
from notify.cli.context import FAILED, PARTLY, Context, pairs, print_json, say, user
from notify.cli.rejects import Rejects
from notify.cli.running import Started, Watch, run_watched
from notify.errors import InvalidInput, UsageError
from notify.store.batches import CANCELLED, FINISHED, PAUSED, WITH_FAILURES, Batch, Batches

_SKIP: Final = "skip"
_OVER: Final = (FINISHED, WITH_FAILURES)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileOrder:
    """What was asked for; ``name`` is empty where the content names the batch."""

    spec: FileSpec
    name: str = ""
    rate: float = 0.0
    on_error: str = "stop"
    rejects: Path | None = None
    yes: bool = False
    as_json: bool = False


def file_order(
    path: str,
    variables: Sequence[str],
    as_json: bool,
    *,
    encoding: str | None,
    template: str | None,
    **options: Any,
) -> FileOrder:
    """Template and variables are those of rows that name none; ``options`` are the order's."""
    given = {"template": template} if template else {}
    given |= {f"var.{name}": value for name, value in pairs(variables, "--var").items()}
    spec = FileSpec(path=path, encoding=encoding or "", defaults=given)
    return FileOrder(spec=spec, as_json=as_json, **options)


def send_file(context: Context, order: FileOrder) -> int:
    """All rows are checked before the first is published; the exit code."""
    if order.name:
        check_name(order.name)
    with open_file(order.spec, sys.stdin.buffer, context.settings, context.templates) as source:
        source.named(order.name or source.batch)
        rejects = _rejects_path(order)
        checked = Checked(batch=source.batch, source=source, settings=context.settings)
        account = None if _noted(context, source) else _check(order, source, checked, rejects)
        with open_batches(context.settings) as batches:
            batch = batches.get(source.batch)
            if batch is None and account is not None:
                _show(context, order, account)
                if not _agreed(order):
                    say("nothing was published")
                    return FAILED
                batch = batches.add(_new(order, source, account))
            _refuse(batch)
            if batch is not None and batch.state in _OVER and not order.as_json:
                click.echo(f"batch {batch.name} was {batch.state} before", err=True)
            if batch is None or batch.state not in _OVER:
                batch = run_file(context, batches, source.batch, checked)
            return report(batches, batch, as_json=order.as_json)


def run_file(context: Context, batches: Batches, name: str, source: Checked) -> Batch:
    """With a bar, and with an end that can be gone on from when a signal asks for it."""
    before = batches.get(name)
    total, done = (before.total, before.sent) if before else (None, 0)

    def go(watch: Watch, started: Started) -> Batch:
        return run(context.settings, batches, name, source, watch=watch, started=started)

    return run_watched(name, total, done, go)


def report(batches: Batches, batch: Batch, *, as_json: bool) -> int:
    """What became of the rows at RabbitMQ; the exit code."""
    errors = batches.errors(batch.name) if batch.failed else {}
    rows = batch.total
    if as_json:
        facts: dict[str, Any] = {"batch": batch.name, "state": batch.state}
        facts |= {"rows": rows, "published": batch.sent}
        facts |= {"rejected": batch.rejected, "errors": errors, "repeats_at_most": batch.repeats}
        print_json(facts)
    else:
        say(f"{batch.sent} of {rows} published")
        for line in _lines(batch, errors):
            say(f"  {line}")
    return 0 if batch.state == FINISHED else PARTLY


def _lines(batch: Batch, errors: dict[str, int]) -> Iterator[str]:
    if batch.rejected:
        yield f"{batch.rejected} rejected"
    for error, count in errors.items():
        yield f"{count} not published: {error}"
    if batch.repeats:
        yield f"at most {batch.repeats} were published again after a kill; their ids tell"
    if batch.state not in _OVER:
        yield f"batch {batch.name} is {batch.state}; to go on: notify batch resume {batch.name}"


def _noted(context: Context, source: FileSource) -> bool:
    """Whether this file was checked before. Raises ``InvalidInput`` for another one."""
    with open_batches(context.settings) as batches:
        batch = batches.get(source.batch)
    if batch is not None and batch.fingerprint != source.fingerprint:
        raise InvalidInput(
            f"batch {batch.name} exists with another file, other options or another version of"
            " the template; take another --name"
        )
    return batch is not None


def _refuse(batch: Batch | None) -> None:
    if batch is None:
        return
    if batch.state == CANCELLED:
        raise UsageError(f"batch {batch.name} was cancelled; --name gives it another name")
    if batch.state == PAUSED:
        raise UsageError(f"batch {batch.name} is paused: notify batch resume {batch.name}")
    if batch.owner and lives(batch):
        raise UsageError(f"batch {batch.name} runs already {where(batch)}")


def _rejects_path(order: FileOrder) -> Path | None:
    if order.rejects is not None or order.on_error != _SKIP:
        return order.rejects
    if order.spec.path == STDIN:
        raise UsageError("--on-error skip of standard input needs --rejects")
    return Path(f"{order.spec.path}.rejects.csv")


def _check(order: FileOrder, source: FileSource, checked: Checked, path: Path | None) -> Account:
    with Rejects(path) as rejects, Bar(f"checking {source.name}", None) as bar:

        def watch(account: Account) -> None:
            if bar.due():
                bar.show(account.rows, f"{account.rejected} wrong" if account.rejected else "")

        account = check(checked, batch=source.batch, rejected=rejects.add, watch=watch)
    if account.first is None:
        return account
    listed = f"; all are in {path}" if path is not None else "; --rejects FILE lists all"
    if order.on_error != _SKIP:
        more = account.rejected - 1
        error = account.first.error(source.name)
        raise InvalidInput(f"{error} (and {more} more rows{listed})" if more else str(error))
    click.echo(f"{account.rejected} of {account.rows} rows are wrong{listed}", err=True)
    return account


def _new(order: FileOrder, source: FileSource, account: Account) -> Batch:
    spec = order.spec.to_dict()
    if order.spec.path != STDIN:
        spec["path"] = str(Path(order.spec.path).absolute())
    return Batch(
        name=source.batch,
        source=spec,
        fingerprint=source.fingerprint,
        rate=order.rate,
        total=account.rows,
        actor=user(),
    )


def _agreed(order: FileOrder) -> bool:
    """A person is asked; a program that calls this has decided."""
    if order.yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return click.confirm("Publish?", default=False)


def _show(context: Context, order: FileOrder, account: Account) -> None:
    if order.as_json or not sys.stdout.isatty():
        return
    for line in preview(context, order, account):
        say(line)


def preview(context: Context, order: FileOrder, account: Account) -> Iterator[str]:
    """What would be sent, and how long it takes at least."""
    times = estimate(account.loads, context.settings)
    for channel, load in sorted(account.loads.items()):
        segments = f", {load.segments} segments" if channel == "sms" else ""
        time = times[channel]
        at_limits = "no limit is configured" if time is None else f"about {duration(time)}"
        yield f"{channel}: {load.messages} notifications{segments}; {at_limits}"
    if account.repeated:
        yield f"{account.repeated} rows name a recipient that an earlier row names: each is sent"
    if account.same_id:
        yield f"{account.same_id} rows have the id of an earlier row: they are sent once"
    if account.rejected:
        yield f"{account.rejected} rows are wrong and left out"
    if order.rate:
        good = account.rows - account.rejected
        yield f"publishing at {order.rate:g} rows a second: about {duration(good / order.rate)}"
