"""Whether this machine's clock can be trusted: planned instants are read from it.

A clock that was set back fires nothing twice, as each schedule remembers up to where it has fired;
but until the clock has caught up, what is due in between waits. One that runs ahead fires early.
Neither can be mended here: it is said, and counted.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from notify.schedule.leader import elapsed
from notify.telemetry import event

log = logging.getLogger(__name__)

# Less is what NTP slews, or the time an answer takes.
TOLERATED: Final = 1.0


class Clocks:
    """Compares the wall clock with one that is never set, and with the clock of Redis."""

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = elapsed,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()
        self._said = False
        self.skew = 0.0
        """Seconds by which this machine is ahead of Redis."""
        self.steps = 0

    def look(self, there: float) -> None:
        """``there`` is the time of Redis, from an answer that came this moment."""
        offset = self._wall() - self._steady()
        step, self._offset = offset - self._offset, offset
        if abs(step) > TOLERATED:
            self.steps += 1
            log.warning("clock was set", extra=event(by_s=round(step, 1)))
        self.skew = self._wall() - there
        off = abs(self.skew) > TOLERATED
        if off and not self._said:
            log.warning("clock differs from that of Redis", extra=event(by_s=round(self.skew, 1)))
        self._said = off
