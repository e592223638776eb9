"""Runs the batch of one firing: a private copy, its rows counted, then published evenly."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notify.batch import Checked, Engine, Knobs, Progress, Publishing
from notify.batch.engine import LostLease
from notify.batch.outlet import Sender
from notify.config import Settings
from notify.errors import InvalidInput, NotFound, NotifyError, PublishError, Unavailable
from notify.publish import Client
from notify.recurrence import ON_TIME
from notify.schedule.audience.order import FanOrder
from notify.schedule.audience.reading import opened_rows
from notify.schedule.audience.rows import GeneratedRows, PeopleFile, Stamped
from notify.schedule.audience.spool import Spool
from notify.store.batches import (
    CANCELLED,
    FINISHED,
    PAUSED,
    RUNNING,
    WITH_FAILURES,
    Batch,
    Batches,
    BatchProgress,
)
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

# While rows are copied and counted, it says so often that it is still there.
_BEAT: Final = 5.0


class Busy(NotifyError):
    """Somebody else runs this batch, or it is not to be run."""


class NotYet(NotifyError):
    """The rows cannot be read at this moment, and may be soon."""


class Halted(NotifyError):
    """The batch is paused, because its rows cannot be sent as they are."""


class _Ended(Exception):
    """It was asked to stop, or is paused, cancelled or taken by now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What running takes."""

    settings: Settings
    batches: Batches
    spool: Spool
    client: Callable[[Settings], AbstractContextManager[Sender]] = Client


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Who runs it: ``owner``, unless another one is ``alive`` or its state is none of ``only``."""

    owner: str
    alive: Callable[[Batch], bool]
    only: Collection[str] = (RUNNING,)


class Run:
    """One run of one batch. ``watch`` is told of the progress, ``started`` of the engine."""

    def __init__(
        self,
        means: Means,
        name: str,
        claim: Claim,
        *,
        watch: Callable[[Progress], None] = lambda _: None,
        started: Callable[[Engine], None] = lambda _: None,
        knobs: Knobs | None = None,
    ) -> None:
        self._means = means
        self._name = name
        self._claim = claim
        self._watch = watch
        self._started = started
        self._knobs = knobs or Knobs()
        self._stopping = threading.Event()
        self._engine: Engine | None = None
        self._beat_at = 0.0
        self._batch = Batch(name=name)

    def stop(self) -> None:
        """Lets it come to an end soon, to go on another time. From any thread."""
        self._stopping.set()
        if self._engine is not None:
            self._engine.stop()

    def go(self) -> Batch:
        """To its end, or until it is paused, cancelled or stopped; the batch as it is then.

        Raises ``Busy``, ``LostLease``, ``NotYet``, ``Halted``; ``Unavailable`` and
        ``PublishError``, after which it can be run again.
        """
        self._batch = self._take()
        try:
            self._run()
        except _Ended:
            self._leave()
        except (LostLease, Unavailable, PublishError):
            with suppress(NotifyError):
                self._leave()
            raise
        except NotifyError as error:
            self._trouble(error)
        except Exception as error:
            log.error("batch fails", extra=event(batch=self._name, error=safe_traceback(error)))
            self._halt(f"failed with {type(error).__name__}; the log of this host says more")
        return self._over()

    def _take(self) -> Batch:
        claim, window = self._claim, self._knobs.window
        taken = self._means.batches.take(self._name, claim.owner, claim.alive, window, claim.only)
        if taken is None:
            raise Busy(f"batch {self._name}: another process runs it, or it is not to be run")
        return taken

    def _run(self) -> None:
        means, order = self._means, FanOrder.from_dict(self._batch.source)
        had = order.batch in means.spool.batches()
        self._beat_at = time.monotonic() + _BEAT
        with (
            opened_rows(order, means.settings, means.spool, still=self._still) as rows,
            means.client(means.settings) as client,
        ):
            self._check(order, rows, had)
            self._note(order, rows)
            source = Checked(
                batch=self._name,
                source=Stamped(order=order, source=rows),
                settings=means.settings,
            )
            self._publish(Publishing(client), source)

    def _check(self, order: FanOrder, rows: PeopleFile | GeneratedRows, had: bool) -> None:
        """Raises ``InvalidInput`` where these are not the rows with which it began."""
        if self._batch.fingerprint in ("", rows.fingerprint):
            return
        if not had:
            self._means.spool.remove(order.batch)
        began = f"; it began on host {order.host}" if order.host else ""
        raise InvalidInput(f"{rows.name}: it or its template is not what it was{began}")

    def _note(self, order: FanOrder, rows: PeopleFile | GeneratedRows) -> None:
        """What is learned when it begins, once; and that nothing is wrong with it any more."""
        batch, begins = self._batch, not self._batch.fingerprint
        if begins:
            total, spread = rows.count(self._still), order.spec.spread
            rate = total / spread if spread else 0.0
            batch = replace(batch, total=total, rate=rate, fingerprint=rows.fingerprint)
            order = order.evolve(host=socket.gethostname())
        self._batch = replace(batch, source=order.evolve(why="").to_dict())
        if (begins or order.why) and not self._means.batches.amend(self._batch, self._claim.owner):
            raise LostLease
        log.info("batch begins" if begins else "batch goes on", extra=self._facts())

    def _publish(self, outlet: Publishing, source: Checked) -> None:
        engine = Engine(
            outlet,
            self._means.batches,
            self._batch,
            source,
            watch=self._watch,
            knobs=self._knobs,
        )
        self._engine = engine
        self._started(engine)
        if self._stopping.is_set():
            engine.stop()
        engine.run()

    def _still(self) -> None:
        """While rows are copied and counted."""
        if self._stopping.is_set():
            raise _Ended
        if time.monotonic() < self._beat_at:
            return
        self._beat_at = time.monotonic() + _BEAT
        state = self._means.batches.save(self._name, self._claim.owner, self._progress())
        if state is None:
            raise LostLease
        if state != RUNNING:
            raise _Ended

    def _progress(self) -> BatchProgress:
        if self._engine is not None:
            return self._engine.progress.snapshot()
        batch = self._batch
        return BatchProgress(
            cursor=batch.cursor, published=batch.published, rejected=batch.rejected
        )

    def _leave(self) -> None:
        """For whoever goes on with it."""
        self._means.batches.save(self._name, self._claim.owner, self._progress(), leave="")

    def _trouble(self, error: NotifyError) -> None:
        """What cannot be read may be there a moment later, while it is not too late to begin."""
        why = str(error).partition("\n")[0]
        if not self._batch.fingerprint:
            # Nothing was sent of it: what is there next time is what is sent.
            self._means.spool.remove(self._name)
        if not self._batch.fingerprint and datetime.now(UTC) < _latest(self._batch):
            self._leave()
            raise NotYet(why) from error
        self._halt(why)

    def _halt(self, why: str) -> None:
        """What has gone on nevertheless, because somebody wants it so, is not paused."""
        batches = self._means.batches
        self._leave()
        told = replace(self._batch, source={**self._batch.source, "why": why})
        if batches.amend(told, None):
            batches.order(self._name, PAUSED, (RUNNING,))
        raise Halted(why)

    def _over(self) -> Batch:
        batch = self._means.batches.get(self._name)
        if batch is None:
            raise NotFound(f"there is no batch {self._name}")
        self._batch = batch
        if is_over(batch):
            self._means.spool.remove(self._name)
            log.info("batch is over", extra=self._facts())
        return batch

    def _facts(self) -> dict[str, Any]:
        batch = self._batch
        return event(
            batch=batch.name,
            state=batch.state,
            rows=batch.total,
            published=batch.sent,
            rejected=batch.rejected,
            not_published=batch.failed,
        )


def is_over(batch: Batch) -> bool:
    """Whether none of its rows can be published any more."""
    done = batch.state == WITH_FAILURES and not batch.failed
    return done or batch.state in (FINISHED, CANCELLED)


def _latest(batch: Batch) -> datetime:
    """Until when its beginning is tried again: as long as it may be fired late."""
    try:
        order = FanOrder.from_dict(batch.source)
    except InvalidInput:
        return datetime.min.replace(tzinfo=UTC)
    return order.planned + timedelta(seconds=max(ON_TIME, order.spec.misfire.grace))
