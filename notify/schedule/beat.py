"""``notify beat``: one leads and fires what is due, the others stand by."""

import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Final

from celery.beat import Service

from notify.config import Settings
from notify.errors import ConfigError
from notify.metrics import BeatMetrics
from notify.provision import ledger
from notify.reloading import Reloader, adopt_log
from notify.schedule.audience.crew import Crew
from notify.schedule.audiences import Audiences
from notify.schedule.book import Book
from notify.schedule.counting import CountedClient
from notify.schedule.desk import Desk
from notify.schedule.entries import LOOP_INTERVAL, beat_app
from notify.schedule.firing import Firing
from notify.schedule.happened import Recording
from notify.schedule.history import History
from notify.schedule.keeping import Keeper, Keeping, OpenKeeper
from notify.schedule.leader import Leader
from notify.schedule.patience import Patient
from notify.schedule.reconciling import Reconciler
from notify.schedule.scheduler import Scheduler
from notify.schedule.truth import Truth
from notify.systemd import Reporter, tell_stopping
from notify.telemetry import event, set_up_logging

log = logging.getLogger(__name__)

_SECTIONS: Final = ("archive", "broker", "channels", "log", "metrics", "redis", "schedules")


def run_beat(settings: Settings) -> int:
    """Fires schedules until SIGTERM or SIGINT. One beat leads, others stand by for its lock.

    The one that leads also sends to audiences. Raises ``ConfigError`` where Redis would lose
    schedules, and ``LedgerUnavailable`` when it does not answer at the start; later on it is
    waited for.
    """
    set_up_logging(settings.log.level, settings.log.format)
    _check_redis(settings)
    stopping = threading.Event()
    reporter, metrics = Reporter(), BeatMetrics()
    counted = partial(CountedClient, metrics=metrics)
    with ExitStack() as stack:
        stack.callback(tell_stopping, "stopped")
        audiences = stack.enter_context(Audiences(settings, counted))
        book = stack.enter_context(closing(Book(settings)))
        client = stack.enter_context(counted(settings))
        recording = Recording(History(settings))
        stack.callback(recording.close)
        leader = _leader(settings, book)
        keeping = Keeping(_open_keeper(settings), leader, stopping)
        stack.callback(keeping.close)
        metrics.leading.set_function(lambda: bool(leader.term()))
        metrics.serve(settings, "beat")
        leader.start()
        crew = Crew(audiences, lambda: bool(leader.term()))
        stack.callback(crew.close)
        crew.start()
        # First of all, so that another beat leads while this one comes to its end.
        stack.callback(leader.stop)
        firing = Firing(settings, client, anew=counted, fanout=Patient(audiences))
        desk = Desk(
            book=book,
            leader=leader,
            firing=firing,
            recording=recording,
            metrics=metrics,
            keeping=keeping,
            status=reporter.status,
            alive=_Alive(reporter, leader),
            stopping=stopping,
        )
        _serve(settings, desk, reporter, audiences)
    log.info("stopped", extra=event(what="beat"))
    return 0


def _check_redis(settings: Settings) -> None:
    """Schedules that are evicted, or forgotten by a restart, are lost as the ledger would be."""
    with closing(ledger(settings)) as opened:
        problems = opened.check()
    if problems:
        raise ConfigError(problems)


def _leader(settings: Settings, book: Book) -> Leader:
    redis = settings.redis
    return Leader(redis.url, book.shelf.lock, timeout=redis.timeout)


class _Alive:
    """Signs of life to systemd, and to the lock, which a stuck loop must not keep."""

    def __init__(self, reporter: Reporter, leader: Leader) -> None:
        self._reporter = reporter
        self._leader = leader

    def __call__(self) -> None:
        self._reporter.alive()
        self._leader.sign_of_life()


def _open_keeper(settings: Settings) -> OpenKeeper | None:
    if settings.schedules.truth != "database":
        return None

    @contextmanager
    def opened(alive: Callable[[], None]) -> Iterator[Keeper]:
        with Truth(settings) as truth:
            yield Reconciler(truth, history=settings.schedules.history, alive=alive)

    return opened


def _serve(settings: Settings, desk: Desk, reporter: Reporter, audiences: Audiences) -> None:
    app = beat_app(settings)
    service = Service(app, max_interval=LOOP_INTERVAL, scheduler_cls=partial(Scheduler, desk=desk))
    # Built now: a signal may come while it is being built, and the handler must not build it.
    assert service.scheduler
    _stop_on_signals(service, desk.stopping)

    def adopt(old: Settings, new: Settings) -> Settings:
        changed = adopt_log(old, new).model_copy(update={"channels": new.channels})
        desk.firing.renew(changed)
        audiences.renew(changed)
        return changed

    Reloader(settings, adopt=adopt, sections=_SECTIONS, then=reporter.resumed).watch()
    log.info("ready", extra=event(what="beat", host=socket.gethostname()))
    service.start()


def _stop_on_signals(service: Service, stopping: threading.Event) -> None:
    def stop(*_: object) -> None:
        stopping.set()
        service.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
