"""One rate, shared by processes with many threads, by the real clock."""

import json
import subprocess
import sys
import threading
import time
from itertools import pairwise

import pytest

from notify.limits import Granted, Limits
from notify.local import Servers
from tests.deployment import ROOT
from tests.limits.desk import SMS, limited

pytestmark = [pytest.mark.redis, pytest.mark.slow]

RATE = 50
SETTINGS = limited(rate=f"{RATE}/s")
PHASE = 2.5

SENDING = """
import json, sys, threading, time
from notify.limits import Granted
from tests.limits.test_shared_rate import PHASE, SETTINGS, SMS, Limits

limits = Limits(sys.argv[1], prefix=sys.argv[2], timeout=10)
limits.states("sms", [])
sent = []

def send(until):
    while time.monotonic() < until:
        answer = limits.reserve(SMS, SETTINGS, cost=1, urgent=False, lease=30)
        time.sleep(answer.wait)
        if isinstance(answer, Granted):
            sent.append((answer.at, time.monotonic()))

def phase():
    until = time.monotonic() + PHASE
    threads = [threading.Thread(target=send, args=(until,)) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

print("ready", flush=True)
for line in sys.stdin:
    phase()
    print(json.dumps(sent), flush=True)
    sent.clear()
"""


def test_four_processes_with_fifty_threads_keep_the_rate(
    servers: Servers, limits: Limits, prefix: str
) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SENDING, servers.redis_url, prefix],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    urgent = Urgent(limits)
    try:
        for process in processes:
            assert line(process) == "ready"
        urgent.thread.start()
        first = run(processes)
        # Idle for a second, but for the urgent ones.
        assert not urgent.over.wait(1)
        second = run(processes)
    finally:
        urgent.over.set()
        urgent.thread.join(10)
        for process in processes:
            process.communicate(timeout=30)
    assert max(urgent.waits) < 1
    assert len(urgent.waits) > 20
    slots = sorted([*(at for at, _ in first + second), *urgent.slots])
    assert min(b - a for a, b in pairwise(slots)) > 1 / RATE - 1e-6
    for sends in (first, second):
        start, end = min(sends)[0], max(sends)[0]
        in_phase = [at for at in slots if start <= at <= end]
        assert len(in_phase) - 1 == pytest.approx((end - start) * RATE, rel=0.02)
        assert len(in_phase) == pytest.approx((PHASE + 0.25) * RATE, rel=0.1)
        # And were sent so, but for how late the last thread woke up.
        sent = [when for _, when in sends]
        assert max(sent) - min(sent) == pytest.approx(end - start, abs=0.25)


class Urgent:
    """Somebody who sends an urgent notification every 0.2 s."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waits: list[float] = []
        self.slots: list[float] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.send)

    def send(self) -> None:
        while not self.over.wait(0.2):
            started = time.monotonic()
            answer = self.limits.reserve(SMS, SETTINGS, cost=1, urgent=True, lease=30)
            assert isinstance(answer, Granted)
            self.waits.append(time.monotonic() - started + answer.wait)
            self.slots.append(answer.at)


def run(processes: list["subprocess.Popen[str]"]) -> list[tuple[float, float]]:
    """A phase in all of them: of each send its slot and when it was sent."""
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    return [(at, sent) for process in processes for at, sent in json.loads(line(process))]


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()
