"""The life of automatic care: one of all archivers leads, looks again and again, and tells."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import uuid4

from notify import provision
from notify.care import retention
from notify.care.carer import Carer, Done
from notify.care.readiness import Readiness
from notify.care.resending import Resender
from notify.care.telling import Teller
from notify.config import Settings
from notify.errors import NotifyError, Unavailable
from notify.metrics import ArchiverMetrics
from notify.publish import Client
from notify.store import Store
from notify.store.care import CareBook
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

# Longer than a look at a slow database; whoever is killed is replaced after it.
LEASE: Final = 60.0
_RENEWED: Final = 15.0
_AT_ONCE: Final = 1.0
_PURGED_EVERY: Final = 3600.0
_SETTLED: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = 300.0
_GRACE: Final = 5.0


@contextmanager
def caring(
    settings: Settings, stop: threading.Event, metrics: ArchiverMetrics | None = None
) -> Iterator[None]:
    """Beside what else a process does, until ``stop``; ``metrics`` counts what is done."""
    care = Care(settings, stop, metrics)
    thread = threading.Thread(target=care.run, name="notify-care", daemon=True)
    if care.wanted:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if care.wanted:
            # What is cut short then is gone on with by whoever leads next.
            thread.join(_GRACE)


class Care:
    """All that the archiver does by itself about letters that are in the archive already.

    Whatever goes wrong here is said, and tried again; archiving goes on.
    """

    def __init__(
        self, settings: Settings, stop: threading.Event, metrics: ArchiverMetrics | None = None
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._metrics = metrics or ArchiverMetrics()
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._purged = float("-inf")

    @property
    def wanted(self) -> bool:
        """Whether there is anything to do at all."""
        return self._settings.care.enabled or self._settings.archive.limited

    def run(self) -> None:
        """Returns soon after the stop."""
        pause = self._settings.care.every
        while not self._stop.wait(pause):
            pause = self._settings.care.every
            try:
                done = self.once()
                if done is not None and done.more:
                    pause = min(_AT_ONCE, pause)
            except NotifyError as error:
                log.warning("no care for now", extra=event(problem=str(error)))
                pause = min(2 * pause, _LONGEST_PAUSE)
            except Exception as error:  # a bug here must not end the archiver
                log.error("care is broken", extra=event(error=safe_traceback(error)))
                pause = _LONGEST_PAUSE

    def once(self, *, purge: bool = True) -> Done | None:
        """One look, one digest where it is time, one purge; None where another leads."""
        with self._opened() as book:
            if not book.lead(self._owner, LEASE):
                return None
            try:
                return self._lead(book, purge)
            finally:
                book.resign(self._owner)

    def _lead(self, book: CareBook, purge: bool) -> Done:
        """What one part needs may be away while the others can do their work."""
        done, problem = Done(), None
        with self._renewing(book) as leading:
            try:
                if self._settings.care.enabled:
                    done = self._look(book, leading)
            except NotifyError as error:
                problem = error
            if self._settings.care.enabled:
                self._tell(book)
            if purge and leading():
                self._purge(leading)
        if problem is not None:
            raise problem
        return done

    def _look(self, book: CareBook, leading: Callable[[], bool]) -> Done:
        with ExitStack() as stack:
            limits = stack.enter_context(closing(provision.limits(self._settings)))
            resend = stack.enter_context(
                closing(
                    Resender(self._settings, book, lambda: self._stop.is_set() or not leading())
                )
            )
            carer = Carer(
                book, self._settings.care, resend, owner=self._owner, wait=self._stop.wait
            )
            done = carer.look(Readiness(self._settings, limits), leading)
            self._count(done)
            return done

    def _count(self, done: Done) -> None:
        counts = [*done.taken.items()]
        counts += [((rule, "sent"), number) for rule, number in done.sent.items()]
        counts += [((rule, "refused"), number) for rule, number in done.refused.items()]
        for labels, number in counts:
            self._metrics.care.labels(*labels).inc(number)

    def _tell(self, book: CareBook) -> None:
        if self._settings.care.digest is None:
            return
        with Client(self._settings) as client:
            try:
                Teller(self._settings, book, client).tell(datetime.now(UTC), _SETTLED)
            except NotifyError as error:
                log.warning("digest not sent", extra=event(problem=str(error)))

    def _purge(self, leading: Callable[[], bool]) -> None:
        if not self._settings.archive.limited:
            return
        if time.monotonic() - self._purged < _PURGED_EVERY:
            return

        def stop() -> bool:
            return self._stop.wait(retention.PAUSE) or not leading()

        with closing(Store(self._settings.archive.url)) as store:
            purged = retention.purge(store, self._settings.archive, datetime.now(UTC), stop)
        self._metrics.purged.inc(purged)
        self._purged = time.monotonic()

    @contextmanager
    def _opened(self) -> Iterator[CareBook]:
        with closing(CareBook(self._settings.archive.url)) as book:
            book.create()
            yield book

    @contextmanager
    def _renewing(self, book: CareBook) -> Iterator[Callable[[], bool]]:
        """Renews the lease beside the work; what is given says whether we still lead."""
        over, lost = threading.Event(), threading.Event()

        def renew() -> None:
            while not over.wait(_RENEWED):
                try:
                    if book.lead(self._owner, LEASE):
                        continue
                except Unavailable:
                    pass
                lost.set()
                return

        thread = threading.Thread(target=renew, name="notify-care-lease", daemon=True)
        thread.start()
        try:
            yield lambda: not lost.is_set()
        finally:
            over.set()
            thread.join()
