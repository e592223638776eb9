"""Threads for sends: started when needed, and few where few are enough."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Final

from notify.telemetry import event

log = logging.getLogger(__name__)

Work = Callable[[bool], None]
"""Is told whether it has waited for a thread."""
_Job = tuple[Work, bool]

# Enough for the deepest recursion that Python allows; the usual eight megabytes for each of
# hundreds of threads are more address space than some hosts grant.
_STACK: Final = 2 * 1024 * 1024


class _Hand:
    """One thread: whether it was started, and where it waits for work."""

    __slots__ = ("job", "lock", "started")

    def __init__(self) -> None:
        self.started = False
        self.job: _Job | None = None
        self.lock = threading.Lock()
        self.lock.acquire()

    def give(self, job: _Job | None) -> None:
        self.job = job
        self.lock.release()

    def wait(self) -> _Job | None:
        self.lock.acquire()
        return self.job


class Crew:
    """Threads of which ``width`` work at once. The one that was busy last is busy next: its
    connections are open still, and the others rest. ``on_end`` is the last thing each does.

    Everything public is for one thread, that of the event loop.
    """

    def __init__(self, width: int, on_end: Callable[[], None] = lambda: None) -> None:
        self._width = width
        self._on_end = on_end
        self._lock = threading.Lock()
        self._idle: list[_Hand] = []
        self._waiting: deque[Work] = deque()
        self._stopping = False
        self._ended = threading.Event()
        self._numbers: set[int] = set()
        self.threads = 0
        """How many there are, at rest or not."""

    @property
    def waiting(self) -> int:
        """How much waits for a thread."""
        return len(self._waiting)

    @property
    def numbers(self) -> Collection[int]:
        """What the kernel calls each, and the thread that asks."""
        return [threading.get_native_id(), *self._numbers.copy()]

    def put(self, work: Work) -> bool:
        """Whether a thread has it at once; else it waits for one."""
        with self._lock:
            hand = self._free_hand()
            if hand is None:
                self._waiting.append(work)
                return False
        return self._hand_over(hand, work, waited=False)

    def widen(self, width: int) -> None:
        """So many may work at once from now on; fewer are fewer when each has finished."""
        self._width = width
        while self._waiting:
            with self._lock:
                hand = self._free_hand() if self._waiting else None
                if hand is None:
                    return
                work = self._waiting.popleft()
            if not self._hand_over(hand, work, waited=True):
                return

    def forget(self) -> None:
        """What waits for a thread is not done."""
        with self._lock:
            self._waiting.clear()

    def stop(self) -> Sequence[Work]:
        """What is under way is finished, and the threads end; returns what will not be done."""
        with self._lock:
            self._stopping = True
            left, self._waiting = self._waiting, deque()
            idle, self._idle = self._idle, []
        for hand in idle:
            hand.give(None)
        return list(left)

    def wait(self) -> None:
        """Until the last thread has ended, after ``stop``."""
        if self.threads:
            self._ended.wait()

    def _free_hand(self) -> _Hand | None:
        """One that may work, and counts as working from here on. Under the lock."""
        if self._stopping or self.threads - len(self._idle) >= self._width:
            return None
        if self._idle:
            return self._idle.pop()
        self.threads += 1
        return _Hand()

    def _hand_over(self, hand: _Hand, work: Work, *, waited: bool) -> bool:
        """Whether there is a thread for it."""
        if hand.started or self._start(hand):
            hand.give((work, waited))
            return True
        with self._lock:
            self.threads -= 1
            self._waiting.appendleft(work)
        return False

    def _start(self, hand: _Hand) -> bool:
        usual = threading.stack_size(_STACK)
        try:
            threading.Thread(target=self._run, args=(hand,), daemon=True).start()
        except RuntimeError:
            # The host has none to give: one of those that are there will do it.
            log.warning("no more threads", extra=event(threads=self.threads - 1))
            return False
        finally:
            threading.stack_size(usual)
        hand.started = True
        return True

    def _run(self, hand: _Hand) -> None:
        self._numbers.add(threading.get_native_id())
        job = hand.wait()
        while job is not None:
            work, waited = job
            try:
                work(waited)
            except BaseException as error:
                log.error("work failed", extra=event(error=repr(type(error))))
            job = self._following(hand)
        with self._lock:
            self.threads -= 1
            last = not self.threads
        self._on_end()
        if last:
            self._ended.set()

    def _following(self, hand: _Hand) -> _Job | None:
        with self._lock:
            if self._stopping:
                return None
            if self._waiting and self.threads - len(self._idle) <= self._width:
                return self._waiting.popleft(), True
            self._idle.append(hand)
        return hand.wait()
