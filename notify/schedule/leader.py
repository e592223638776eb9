"""Who leads: one beat of many, by a lock in Redis that has its owner's token.

The lock lives ten seconds and is renewed every two by a thread of its own, so that no tick, however
long, outlives it; the others try for it every second. RedBeat's own lock is not used: it is renewed
between ticks only, and what goes wrong while it is taken is swallowed by the signal that takes it.

A process may be stopped at any moment and go on an hour later, believing what it knew. So each
``term`` of leading ends by a clock that counts on while the machine sleeps, two seconds before the
lock does, and whoever acts asks ``holds`` first. What slips through between the question and the
act meets the notification's id, as does what two leaders do after a failover of Redis that lost
the lock.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from notify.errors import LedgerUnavailable
from notify.redisclient import open_redis, translated
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

TTL: Final = 10.0
MARGIN: Final = 2.0
RENEW_EVERY: Final = 2.0
TRY_EVERY: Final = 1.0
# A loop that shows no sign of life for so long is stuck, and leads no more.
STUCK: Final = 60.0
# One answer must not take so long that a renewal is missed.
_LONGEST_WAIT: Final = 2.0

# The holder's token; and "new" where the lock was free. An answer that was lost on its way is
# asked for again with the same token.
_LEAD: Final = """
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return {ARGV[1], 'new'}
end
if holder == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {holder, ''}
"""
_RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


def elapsed() -> float:
    """Seconds by a clock that is never set and counts on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leader:
    """Tries for the lock and keeps it. ``start`` it, ask it, ``stop`` it.

    ``changed`` is called, from its thread, when it begins or ceases to lead.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float,
        ttl: float = TTL,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = elapsed,
    ) -> None:
        self._redis = open_redis(url, min(timeout, _LONGEST_WAIT))
        self._lead = self._redis.register_script(_LEAD)
        self._release = self._redis.register_script(_RELEASE)
        self._key = key
        self._ttl = ttl
        self._changed = changed
        self._clock = clock
        self.token = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex}"
        self.holder = ""
        """Host of the beat that led when Redis answered last."""
        self.trouble = ""
        self.died = False
        """Its thread has ended, which it never should before ``stop``."""
        self._term = 0
        self._valid_until = 0.0
        self._alive_at = clock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat-leader", daemon=True)

    def start(self) -> None:
        """Tries once before it returns. Raises ``LedgerUnavailable`` without Redis."""
        self.attempt()
        self._thread.start()

    def stop(self) -> None:
        """Gives the lock back at once, so that another beat leads within a second."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._lose()
        try:
            with translated():
                self._release(keys=[self._key], args=[self.token])
        except LedgerUnavailable as error:
            log.warning("lock not released, it runs out", extra=event(error=str(error)))
        self._redis.close()

    def term(self) -> int:
        """The number of the present term; 0 while another leads or nobody is known to."""
        return self._term if self._clock() < self._valid_until else 0

    def holds(self, term: int) -> bool:
        """Whether this very term still lasts: ask before each step that others would see."""
        return term == self._term and self._clock() < self._valid_until

    def doubt(self) -> None:
        """Redis said that another has the lock: the term is over until it is asked again."""
        self._valid_until = 0.0

    def sign_of_life(self) -> None:
        """From the loop that acts: a beat that is stuck must not keep others from leading."""
        self._alive_at = self._clock()

    def _run(self) -> None:
        try:
            while not self._stopping.wait(RENEW_EVERY if self.term() else TRY_EVERY):
                self._try()
        except Exception as error:
            # The term ends by itself with the lock, and the loop sees that this thread is gone.
            self.died = True
            log.critical("leading ends", extra=event(error=safe_traceback(error)))

    def _try(self) -> None:
        if self._clock() - self._alive_at > STUCK:
            self.trouble = "the loop is stuck"
            self._lose()
            return
        try:
            self.attempt()
        except LedgerUnavailable as error:
            if not self.trouble:
                log.warning("lock not renewed", extra=event(error=str(error)))
            self.trouble = str(error)

    def attempt(self) -> None:
        """Takes the lock where it is free, renews it where it is ours."""
        # From before the question: the lock may have been renewed no later than that.
        asked = self._clock()
        with translated():
            answer: Any = self._lead(keys=[self._key], args=[self.token, int(self._ttl * 1000)])
        holder, new = answer
        self.trouble = ""
        self.holder = holder.partition(":")[0]
        if holder != self.token:
            self._lose()
            return
        began = bool(new) or not self._term
        if began:
            self._term += 1
        self._valid_until = asked + self._ttl - MARGIN
        if began:
            log.info("leading", extra=event(term=self._term))
            self._changed()

    def _lose(self) -> None:
        led, self._valid_until = self._valid_until > 0.0, 0.0
        if led:
            log.info("leading no more", extra=event(term=self._term))
            self._changed()
