"""The rows of a noted batch: its file again, and what became of each."""

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from notify.batch import Checked, FileSpec, open_file
from notify.batch.files import STDIN
from notify.batch.outcomes import Inquiry, Outcome, Reconciliation
from notify.cli.context import Context
from notify.errors import InvalidInput, NotFound, UsageError
from notify.replay import is_replay
from notify.schedule.audience.order import is_firing
from notify.schedule.audiences import Audiences
from notify.store.batches import Batch, Batches


def find_batch(batches: Batches, name: str) -> Batch:
    found = batches.get(name)
    if found is None:
        raise NotFound(f"there is no batch {name}")
    return found


@contextmanager
def batch_file(context: Context, found: Batch, path: str | None) -> Iterator[Checked]:
    """The file of a batch, which must be the same. Raises ``InvalidInput``."""
    if is_replay(found):
        raise UsageError(f"{found.name} is a replay: notify dead replays show {found.name}")
    if is_firing(found):
        if path is not None:
            raise UsageError(f"--file: {found.name} has the file of its schedule")
        with Audiences(context.settings) as audiences, audiences.rows(found) as rows:
            yield rows
        return
    if not found.source:
        raise UsageError(f"batch {found.name} is from a program, which can run it again")
    spec = FileSpec.from_dict({**found.source, "path": path or found.source["path"]})
    if spec.path == STDIN and path is None:
        raise UsageError(f"batch {found.name} came through a pipe: give --file")
    with open_file(spec, sys.stdin.buffer, context.settings, context.templates) as source:
        if source.fingerprint != found.fingerprint:
            raise InvalidInput(f"{source.name}: it or its template is not what it was")
        named = source.named(found.name)
        yield Checked(batch=found.name, source=named, settings=context.settings)


def reconcile(
    context: Context, batches: Batches, found: Batch, target: str, path: str | None
) -> Reconciliation:
    failures = {each.number: each for each in batches.failures(found.name)}
    with (
        batch_file(context, found, path) as source,
        context.ledger() as ledger,
        context.store() as store,
        _listing(target) as each,
    ):
        inquiry = Inquiry(batch=found, failures=failures, ledger=ledger, store=store)
        return inquiry.reconcile(source, each)


@contextmanager
def _listing(target: str) -> Iterator[Callable[[Outcome], None]]:
    if not target:
        yield lambda _: None
        return
    try:
        opened = Path(target).open("w", encoding="utf-8", newline="") if target != "-" else None  # noqa: SIM115
    except OSError as error:
        raise InvalidInput(f"{target}: cannot be written: {error.strerror}") from error
    try:
        writer = csv.writer(opened or sys.stdout)
        writer.writerow(("row", "id", "outcome", "detail"))
        yield lambda o: writer.writerow((o.number, o.id, o.outcome, o.detail))
    finally:
        if opened is not None:
            opened.close()


def reconciled(found: Batch, known: Reconciliation) -> dict[str, Any]:
    unaccounted = [{"row": each.number, "id": each.id} for each in known.unaccounted]
    complete = known.rows == found.total == known.counts.total()
    return {
        "outcomes": dict(known.counts.most_common()),
        "unaccounted": unaccounted,
        "reconciled": complete and not unaccounted,
    }
