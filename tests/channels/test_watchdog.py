"""One thread for all deadlines: each is kept, and no more is done for them than that."""

import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from time import monotonic

import pytest

from notify.channels.deadlines import Deadline
from notify.channels.watchdog import WATCHDOG, Limited, Watchdog
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]


@dataclass(eq=False)
class Timed:
    """Notes when it was cut off."""

    ends: float
    broken: bool = False
    cut_at: list[float] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        self.cut_at.append(monotonic())
        self.done.set()
        if self.broken:
            raise RuntimeError("broken")

    @property
    def late(self) -> float:
        (at,) = self.cut_at
        return at - self.ends


class Counting(Watchdog):
    """Counts how often it looked."""

    looks = 0

    def _over(self) -> list[Limited]:
        over = super()._over()
        self.looks += 1
        return over

    def sleeps_until(self, ends: float) -> bool:
        return self.looks > 0 and self._wakes == ends and not self._bell.is_set()


@pytest.fixture
def dog() -> Counting:
    return Counting()


def timed(seconds: float) -> Timed:
    return Timed(ends=monotonic() + seconds)


def test_each_is_cut_once_and_not_before_its_time(dog: Counting) -> None:
    each = [timed(0.3 - number / 1000) for number in range(200)]
    for one in each:
        dog.add(one)
    for one in each:
        assert one.done.wait(10)
        assert 0 <= one.late < 2
    assert not dog._watched


def test_a_sooner_one_is_not_kept_waiting_by_a_later_one(dog: Counting) -> None:
    later, sooner = timed(60), timed(0.1)
    dog.add(later)
    eventually(lambda: dog.sleeps_until(later.ends), "it sleeps")
    dog.add(sooner)
    assert sooner.done.wait(10)
    assert sooner.late < 2
    assert not later.cut_at


def test_later_ones_wake_nobody(dog: Counting) -> None:
    first = timed(60)
    dog.add(first)
    eventually(lambda: dog.sleeps_until(first.ends), "it sleeps")
    for _ in range(1000):
        later = timed(60)
        dog.add(later)
        dog.drop(later)
    assert dog.looks <= 2
    assert not dog._bell.is_set()


def test_without_anything_to_watch_it_sleeps(dog: Counting) -> None:
    one = timed(0.05)
    dog.add(one)
    assert one.done.wait(10)
    eventually(lambda: dog.sleeps_until(inf), "it sleeps")
    assert dog.looks <= 3


def test_what_is_dropped_is_not_cut(dog: Counting) -> None:
    dropped, other = timed(0.05), timed(0.1)
    dog.add(dropped)
    dog.add(other)
    dog.drop(dropped)
    dog.drop(dropped)
    assert other.done.wait(10)
    assert not dropped.cut_at


def test_one_that_fails_does_not_spoil_the_rest(
    dog: Counting, caplog: pytest.LogCaptureFixture
) -> None:
    each = [timed(0.05), timed(0.05), timed(0.1)]
    each[0].broken = True
    for one in each:
        dog.add(one)
    assert all(one.done.wait(10) for one in each)
    (record,) = [item for item in caplog.records if item.levelno == logging.ERROR]
    assert record.getMessage() == "a deadline was not kept"


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    with ExitStack() as open_:
        made = [socket.socketpair() for _ in range(100)]
        for pair in made:
            for end in pair:
                open_.enter_context(end)
        yield made


def test_many_blocked_reads_are_woken_at_once(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    heard: list[bytes] = []

    def read(ours: socket.socket) -> None:
        with Deadline(0.3) as deadline:
            deadline.guard(ours)
            heard.append(ours.recv(1))

    started = monotonic()
    readers = [threading.Thread(target=read, args=(ours,)) for ours, _ in pairs]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(10)
    assert heard == [b""] * len(pairs)
    assert 0.3 <= monotonic() - started < 5


def test_a_thousand_deadlines_are_one_thread() -> None:
    with Deadline(30):
        before = threading.active_count()
    for _ in range(1000):
        with Deadline(30):
            pass
    with ExitStack() as entered:
        many = [entered.enter_context(Deadline(30)) for _ in range(1000)]
        assert WATCHDOG._watched.issuperset(many)
        assert threading.active_count() <= before
    assert not WATCHDOG._watched.intersection(many)


FORKING = """
import os, socket, sys, warnings
from notify.channels.deadlines import Deadline
from notify.channels.watchdog import WATCHDOG

warnings.simplefilter("ignore")  # newer versions of Python warn of threads

def cut_off():
    ours, theirs = socket.socketpair()
    with Deadline(0.1) as deadline:
        deadline.guard(ours)
        ours.settimeout(20)
        return ours.recv(1) == b""

assert cut_off()
with Deadline(60):
    # The worst moment: whoever holds the lock does not live on in the child.
    WATCHDOG._lock.acquire()
    child = os.fork()
    if child:
        WATCHDOG._lock.release()
if not child:
    os._exit(0 if cut_off() else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) or not cut_off())
"""


def test_a_forked_process_has_a_thread_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
