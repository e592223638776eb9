"""Injects the planned faults: each lane one after the other, both lanes at once."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from notify.drill.crew import Crew
from notify.drill.disk import SmallDisk
from notify.drill.gateways import Gateways
from notify.drill.plan import Fault, Kind, Planned
from notify.errors import UsageError
from notify.local import PrivateServers

ARCHIVER: Final = "archiver"
BEATS: Final = ("beat-1", "beat-2")
# After something was mended: so that the next fault finds something flowing.
_PEACE: Final = 3.0
# Longer than any answer of the gateways takes, on a busy machine too.
_ANSWERED_BY_THEN: Final = 2.0


class Breaker:
    """Breaks one thing, sees to it that it is mended, and says when that was."""

    def __init__(
        self,
        *,
        crew: Crew,
        gateways: Gateways,
        workers: Sequence[str],
        servers: PrivateServers | None,
        disk: SmallDisk | None,
    ) -> None:
        self._crew = crew
        self._gateways = gateways
        self._workers = workers
        self._given_servers = servers
        self._given_disk = disk
        self._acts: dict[Kind, Callable[[Planned], Fault]] = {
            Kind.WORKER_KILL: self._kill_worker,
            Kind.ARCHIVER_KILL: self._kill_archiver,
            Kind.BEAT_KILL: self._kill_beat,
            Kind.BROKER_RESTART: self._restart_broker,
            Kind.BROKER_KILL: self._restart_broker,
            Kind.REDIS_KILL: self._restart_redis,
            Kind.GATEWAY_BUSY: self._disturb_gateways,
            Kind.GATEWAY_RESET: self._disturb_gateways,
            Kind.GATEWAY_CLOSED: self._close_gateways,
            Kind.PROVIDER_OUTAGE: self._take_provider_away,
            Kind.DISK_FULL: self._fill_disk,
        }

    def inject(self, planned: Planned) -> Fault:
        """Returns when what was broken is in order again."""
        return self._acts[planned.kind](planned)

    def victim(self, planned: Planned) -> str:
        """The process that a draw picks; empty where a fault concerns all."""
        pools = {Kind.WORKER_KILL: self._workers, Kind.BEAT_KILL: BEATS}
        pool = pools.get(planned.kind, ())
        return pool[int(planned.draw * len(pool))] if pool else ""

    def _kill_worker(self, planned: Planned) -> Fault:
        queue = self.victim(planned)
        at = time.time()
        gone = self._crew.kill(queue)
        return Fault(kind=planned.kind, queue=queue, at=at, struck=gone, until=gone)

    def _kill_archiver(self, planned: Planned) -> Fault:
        at = time.time()
        gone = self._crew.kill(ARCHIVER)
        return Fault(kind=planned.kind, at=at, struck=gone, until=gone)

    def _kill_beat(self, planned: Planned) -> Fault:
        """The one that leads, or the one that stands by."""
        at = time.time()
        gone = self._crew.kill(self.victim(planned))
        return Fault(kind=planned.kind, at=at, struck=gone, until=gone)

    def _restart_broker(self, planned: Planned) -> Fault:
        at = time.time()
        self._servers.stop_broker(kill=planned.kind is Kind.BROKER_KILL)
        struck = time.time()
        self._servers.start_broker()
        return Fault(kind=planned.kind, at=at, struck=struck, until=time.time())

    def _restart_redis(self, planned: Planned) -> Fault:
        at = time.time()
        self._servers.stop_redis(kill=True)
        struck = time.time()
        self._servers.start_redis()
        return Fault(kind=planned.kind, at=at, struck=struck, until=time.time())

    def _disturb_gateways(self, planned: Planned) -> Fault:
        gateways, at = self._gateways, time.time()
        busy = planned.kind is Kind.GATEWAY_BUSY
        (gateways.be_busy if busy else gateways.cut_connections)()
        struck = time.time()
        time.sleep(planned.lasts)
        gateways.recover()
        return Fault(kind=planned.kind, at=at, struck=struck, until=time.time())

    def _close_gateways(self, planned: Planned) -> Fault:
        at = time.time()
        self._gateways.close()
        struck = time.time()
        time.sleep(planned.lasts)
        self._gateways.reopen()
        return Fault(kind=planned.kind, at=at, struck=struck, until=time.time())

    def _take_provider_away(self, planned: Planned) -> Fault:
        """It takes nothing new before it goes, so that no outcome can be unknown."""
        at = time.time()
        self._gateways.take_nothing()
        struck = time.time()
        time.sleep(_ANSWERED_BY_THEN)
        self._gateways.leave()
        time.sleep(max(0.0, planned.lasts - _ANSWERED_BY_THEN))
        self._gateways.reopen()
        return Fault(kind=planned.kind, at=at, struck=struck, until=time.time())

    def _fill_disk(self, planned: Planned) -> Fault:
        disk, at = self._disk, time.time()
        disk.fill()
        struck = time.time()
        time.sleep(planned.lasts)
        disk.clear()
        return Fault(kind=planned.kind, at=at, struck=struck, until=time.time())

    @property
    def _servers(self) -> PrivateServers:
        if self._given_servers is None:
            raise UsageError("these servers are not ours to restart")
        return self._given_servers

    @property
    def _disk(self) -> SmallDisk:
        if self._given_disk is None:
            raise UsageError("this drill has no disk to fill")
        return self._given_disk


class Lane:
    """Faults one after the other, in a thread; what comes too late comes a little later."""

    def __init__(
        self, planned: Iterable[Planned], breaker: Breaker, say: Callable[[str], None]
    ) -> None:
        self._planned = planned
        self._breaker = breaker
        self._say = say
        self._peace_until = 0.0
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drill-faults", daemon=True)
        self.faults: list[Fault] = []
        self.error: Exception | None = None

    def start(self) -> None:
        self._begun = time.monotonic()
        self._thread.start()

    def finish(self) -> None:
        """No further fault; the one under way is mended first."""
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            for planned in self._planned:
                due = max(self._begun + planned.after, self._peace_until)
                if self._enough.wait(max(0.0, due - time.monotonic())):
                    return
                self._inject(planned)
        except Exception as error:  # raised again by the drill, which looks here
            self.error = error

    def _inject(self, planned: Planned) -> None:
        victim = self._breaker.victim(planned)
        self._say(f"{planned.kind}: {victim}" if victim else f"{planned.kind}")
        fault = self._breaker.inject(planned)
        self.faults.append(fault)
        if fault.until > fault.struck:
            self._peace_until = time.monotonic() + _PEACE
            self._say(f"{planned.kind}: in order again after {fault.until - fault.at:.1f} s")
