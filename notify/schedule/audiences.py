"""Schedules for many: who sends their firings, each as a batch of its own.

A firing is noted as a batch (``start``), and run by the leading beat (see
``notify.schedule.audience.crew``) or by whoever asks for it (``run``). Its rows have the ids
``batch:row``, so that no one gets it twice, whoever runs it and however often that is killed.
"""

import threading
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

from notify.batch import Checked, Engine, Knobs, Progress, lives
from notify.batch.outlet import Sender
from notify.batch.owner import this_process
from notify.config import Settings
from notify.errors import InvalidInput, NotFound
from notify.publish import Client
from notify.schedule.audience.order import FanOrder, batch_name, is_firing
from notify.schedule.audience.reading import check_there, opened_file, opened_rows
from notify.schedule.audience.rows import Stamped
from notify.schedule.audience.running import Claim, Means, Run, is_over
from notify.schedule.audience.spool import Spool, spool_directory
from notify.schedule.spec import ScheduleSpec, load_audience
from notify.store.batches import PAUSED, RUNNING, WITH_FAILURES, Batch
from notify.store.firingbatches import FiringBatches

# With these rows it is seen whether a file is one that this schedule can send to.
_LOOKED_AT: Final = 20
# Rows that were not published can be tried again for so long.
_KEPT: Final = 7 * 86400.0


class Audiences:
    """Implements ``Fanout``; thread-safe. The archive is opened when it is first needed."""

    def __init__(
        self,
        settings: Settings,
        client: Callable[[Settings], AbstractContextManager[Sender]] = Client,
    ) -> None:
        """``client`` makes what a run publishes with."""
        self._settings = settings
        self._client = client
        self._spool = Spool(spool_directory(settings))
        self._lock = threading.Lock()
        self._opened: FiringBatches | None = None
        self.noted = threading.Event()
        """Set whenever there may be something new to run."""

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def __enter__(self) -> "Audiences":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def renew(self, settings: Settings) -> None:
        """Uses these from the next run on."""
        self._settings = settings

    def check(self, spec: ScheduleSpec) -> None:
        """Raises ``InvalidInput`` where this host could not send to it as it is now."""
        who = spec.audience
        if who.python is not None:
            load_audience(who.python)
        if who.file is None:
            return
        if not Path(who.file).is_absolute():
            raise InvalidInput(f"file: must be an absolute path, and {who.file} is not")
        self._check_first_rows(spec, who.file)

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        """See ``Fanout``. Raises ``InvalidInput`` where there are no rows to be read now, and
        ``StoreUnavailable``."""
        name = batch_name(spec.name, planned)
        if self._batches().get(name) is None:
            check_there(spec)
            order = FanOrder(spec=spec, planned=planned, actual=actual)
            self._batches().add(Batch(name=name, source=order.to_dict(), actor="schedule"))
        self.noted.set()
        return name

    def get(self, name: str) -> Batch | None:
        return self._batches().get(name)

    def resume(self, name: str) -> Batch:
        """Lets the beat go on with one that rests, or try again what could not be published."""
        self._batches().order(name, RUNNING, (PAUSED, WITH_FAILURES))
        found = self.get(name)
        if found is None:
            raise NotFound(f"there is no batch {name}")
        return found

    def waiting(
        self, alive: Callable[[Batch], bool] = lives, since: datetime | None = None
    ) -> list[Batch]:
        """Firings that nobody runs and somebody should, oldest first; noted ``since`` then."""
        found = self._batches().unfinished(since)
        return [each for each in found if is_firing(each) and not (each.owner and alive(each))]

    def begin(
        self,
        name: str,
        *,
        owner: str = "",
        alive: Callable[[Batch], bool] = lives,
        only: Collection[str] = (RUNNING,),
        watch: Callable[[Progress], None] = lambda _: None,
        started: Callable[[Engine], None] = lambda _: None,
        knobs: Knobs | None = None,
    ) -> Run:
        """A run of a batch that ``start`` has noted: let it ``go``."""
        means = Means(
            settings=self._settings,
            batches=self._batches(),
            spool=self._spool,
            client=self._client,
        )
        claim = Claim(owner=owner or this_process(uuid.uuid4().hex), alive=alive, only=only)
        return Run(means, name, claim, watch=watch, started=started, knobs=knobs)

    @contextmanager
    def rows(self, batch: Batch) -> Iterator[Checked]:
        """All rows of a batch, as they were sent. Raises ``InvalidInput`` where they are not
        what they were: what it was sent from is kept until it is over."""
        order = FanOrder.from_dict(batch.source)
        with opened_rows(order, self._settings, self._spool, keep=False) as rows:
            if batch.fingerprint not in ("", rows.fingerprint):
                raise InvalidInput(f"{rows.name}: it or its template is not what it was")
            source = Stamped(order=order, source=rows)
            yield Checked(batch=batch.name, source=source, settings=self._settings)

    def sweep(self) -> None:
        """Removes the copies of what is over, and what was killed while it was copied; forgets
        firings that are as old as the oldest in the history."""
        oldest = datetime.now(UTC) - timedelta(seconds=self._settings.schedules.history)
        while self._batches().forget(oldest):
            pass
        self._spool.sweep()
        for name in self._spool.batches():
            batch = self._batches().get(name)
            late = self._spool.age(name) > _KEPT
            if batch is None or is_over(batch) or (late and batch.state == WITH_FAILURES):
                self._spool.remove(name)

    def _batches(self) -> FiringBatches:
        with self._lock:
            if self._opened is None:
                opened = FiringBatches(self._settings.archive.url)
                try:
                    opened.create()
                except BaseException:
                    opened.close()
                    raise
                self._opened = opened
            return self._opened

    def _check_first_rows(self, spec: ScheduleSpec, path: str) -> None:
        now = datetime.now(UTC)
        order = FanOrder(spec=spec, planned=now, actual=now)
        with opened_file(order, self._settings) as rows:
            source = Checked(
                batch=order.batch,
                source=Stamped(order=order, source=rows),
                settings=self._settings,
            )
            first = list(islice(source.rows(), _LOOKED_AT))
        if first and all(row.notification is None for row in first):
            raise first[0].error(path)
