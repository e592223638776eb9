"""Watches the worker and ends it when it would only look alive.

A worker is alive while its probes come back, its sends end, and messages that are ready are
taken. What is not its fault (RabbitMQ does not answer or has an alarm, Redis is away) is
said, not punished: a restart would not help.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from notify.broker import Depth
from notify.deliver import Pipeline
from notify.errors import BrokerUnavailable, Unconfirmed
from notify.sending import GRACE
from notify.systemd import tell_ready, tell_status, tell_stopping
from notify.telemetry import event
from notify.worker.doing import Doing, Teller
from notify.worker.gate import Gate
from notify.worker.probe import Probe

log = logging.getLogger(__name__)

EXIT_NOT_ALIVE: Final = 70
_FRESH: Final = 10.0
_SILENCE: Final = 30.0
_IDLE: Final = 15.0
_EVERY: Final = 2.0
_DRAIN: Final = 30.0


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known at one moment; times are seconds."""

    overdue: float = 0.0
    """By how much the send that is latest has passed its deadline."""
    silence: float = 0.0
    """Since a probe came back, or since the broker was known to be at fault."""
    idle: float = 0.0
    """Since when messages were ready, slots free, and none was taken."""
    paused: str = ""


def fault(facts: Facts) -> str:
    """Why this worker must end; empty while it is alive."""
    if facts.overdue > GRACE:
        return "send is stuck past its deadline"
    if facts.silence > _SILENCE:
        return "no probe came back through the consuming channel"
    if facts.idle > _IDLE and not facts.paused:
        return "messages are ready and none is taken"
    return ""


class Watch:
    """A thread that looks every two seconds, and feeds systemd's watchdog."""

    def __init__(
        self,
        *,
        pipeline: Pipeline,
        probe: Probe,
        gate: Gate,
        depth: Depth,
        concurrency: int,
        stopping: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipeline = pipeline
        self._probe = probe
        self._gate = gate
        self._depth = depth
        self._concurrency = concurrency
        self._stopping = stopping
        self._clock = clock
        self._trouble = ""
        self._connection = ""
        self._given_up = ""
        self._teller = Teller()
        self._told_of_stop = False
        self.gave_up = False
        self._note = ""
        self._excused = clock()
        self._moved = clock()
        self._taken = -1

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self._rest()
            facts = self.look()
            why = fault(facts)
            if why and not (self._stopping.is_set() and not facts.overdue):
                self._leave(why)
            self._report(facts)

    def _rest(self) -> None:
        """Until the next look, which comes at once when the worker is told to stop."""
        if self._told_of_stop:
            time.sleep(_EVERY)
        else:
            self._stopping.wait(_EVERY)

    def tell_ready(self) -> None:
        """It consumes."""
        tell_ready(self._teller.line(self._doing()))

    def resume(self, note: str) -> None:
        """It goes on after a reload; ``note`` stays in the status."""
        self._note = note
        self.tell_ready()

    def look(self) -> Facts:
        now = self._clock()
        if not self._stopping.is_set():
            self._send_probe(now)
            self._look_at_queue(now)
        deadlines = list(self._pipeline.sending.values())
        return Facts(
            overdue=max((now - deadline for deadline in deadlines), default=0.0),
            silence=now - max(self._probe.returned, self._excused),
            idle=now - self._moved,
            paused=self._gate.reason,
        )

    def _send_probe(self, now: float) -> None:
        error = self._probe.send()
        if self._probe.queue != self._connection:
            self._connection, self._excused = self._probe.queue, now
        away = not self._probe.queue and self._depth.ready() is None
        if away or isinstance(error, BrokerUnavailable):
            self._excused = now
        self._trouble = str(error) if error else "RabbitMQ does not answer" if away else ""
        if not isinstance(error, Unconfirmed):
            self._reconnect_if_deaf(now)

    def _reconnect_if_deaf(self, now: float) -> None:
        """The broker answers us, but not the consumer: that connection is half open."""
        silence = now - max(self._probe.returned, self._excused)
        queue = self._probe.queue
        if queue and queue != self._given_up and silence > _FRESH:
            log.warning("reconnecting", extra=event(why="no probe came back", after_s=_FRESH))
            self._given_up = queue
            self._probe.reconnect()

    def _look_at_queue(self, now: float) -> None:
        busy = self._pipeline.handling >= self._concurrency
        moving = self._pipeline.taken != self._taken
        if busy or moving or self._gate.reason or not self._depth.ready():
            self._moved, self._taken = now, self._pipeline.taken

    def _report(self, facts: Facts) -> None:
        line = self._teller.line(self._doing())
        if self._stopping.is_set():
            (tell_status if self._told_of_stop else tell_stopping)(line)
            self._told_of_stop = True
        else:
            tell_status(line, alive=facts.silence < _FRESH)

    def _doing(self) -> Doing:
        return Doing(
            sending=len(self._pipeline.sending),
            held=self._pipeline.holding,
            paused=self._gate.reason,
            trouble=self._trouble,
            stopping=self._stopping.is_set(),
            note=self._note,
        )

    def _leave(self, why: str) -> None:
        """Drains what can be drained, then ends the process: a thread cannot be killed."""
        log.critical("leaving", extra=event(channel=self._pipeline.name, why=why))
        self.gave_up = True
        self._stopping.set()
        os.kill(os.getpid(), signal.SIGTERM)
        give_up = self._clock() + _DRAIN
        while self._clock() < give_up and self._unfinished():
            time.sleep(0.1)
        time.sleep(1.0)
        os._exit(EXIT_NOT_ALIVE)

    def _unfinished(self) -> bool:
        late = self._clock() - GRACE
        return any(deadline >= late for deadline in list(self._pipeline.sending.values()))
