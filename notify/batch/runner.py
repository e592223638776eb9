"""Runs a batch by its name: takes it, goes on where it was, leaves it in a true state."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from notify.batch.engine import Engine, Knobs
from notify.batch.outlet import Outlet, Publishing
from notify.batch.owner import lives, this_process, where
from notify.batch.progress import Progress
from notify.batch.source import Checked, Given, Source
from notify.config import Settings
from notify.errors import NotFound, UsageError
from notify.notification import Notification
from notify.publish import Client
from notify.store.batches import CANCELLED, FINISHED, Batch, Batches

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,95}")


@contextmanager
def open_batches(settings: Settings) -> Iterator[Batches]:
    """The batches that the archive's database knows; the tables are created where missing."""
    batches = Batches(settings.archive.url)
    try:
        batches.create()
        yield batches
    finally:
        batches.close()


def check_name(name: str) -> None:
    """Raises ``UsageError`` for what cannot be the beginning of an id."""
    if not _NAME.fullmatch(name):
        raise UsageError("a batch's name must be 1 to 96 letters, digits, '_' or '-'")


def run_batch(
    settings: Settings,
    name: str,
    notifications: Iterable[Notification | Mapping[str, Any]],
    *,
    rate: float = 0.0,
    knobs: Knobs | None = None,
) -> Batch:
    """Publishes many under one name; started again after a kill, it goes on where it was.

    Give the same notifications in the same order each time: the n-th has the id ``name:n``,
    whatever id it came with, and those before the cursor are passed over. Mappings have the
    fields of a notification. An invalid one is counted as rejected, the others go on.
    ``rate`` is rows per second, 0 for no limit. A batch that is finished is not run again, and
    neither is one that was cancelled; one that was paused goes on.

    Returns the batch with its counts and its state. Raises ``UsageError`` for a name that
    cannot be one or while another process runs it, and ``Unavailable`` or ``PublishError``
    when nothing was confirmed for five minutes: call it again then.
    """
    check_name(name)
    with open_batches(settings) as batches:
        batches.add(Batch(name=name, rate=rate))
        given = Given(batch=name, items=notifications)
        source = Checked(batch=name, source=given, settings=settings)
        return run(settings, batches, name, source, knobs=knobs)


def run(
    settings: Settings,
    batches: Batches,
    name: str,
    source: Source,
    *,
    watch: Callable[[Progress], None] = lambda _: None,
    started: Callable[[Engine], None] = lambda _: None,
    knobs: Knobs | None = None,
    outlet: Outlet | None = None,
) -> Batch:
    """Runs a noted batch to its end, or until it is paused, cancelled or stopped.

    Without an ``outlet`` its notifications are published. One that is over is returned as it
    is. Raises ``UsageError`` while another process runs it.
    """
    knobs = knobs or Knobs()
    batch = _found(batches, name)
    if batch.state in (FINISHED, CANCELLED):
        return batch
    owner = this_process(uuid.uuid4().hex)
    taken = batches.take(name, owner, lives, knobs.window)
    if taken is None:
        raise UsageError(f"batch {name} runs already {where(_found(batches, name))}")
    with Client(settings) as client:
        way = outlet or Publishing(client)
        engine = Engine(way, batches, taken, source, watch=watch, knobs=knobs)
        started(engine)
        engine.run()
    return _found(batches, name)


def _found(batches: Batches, name: str) -> Batch:
    batch = batches.get(name)
    if batch is None:
        raise NotFound(f"there is no batch {name}")
    return batch
