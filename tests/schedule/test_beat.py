"""Beats as processes: killed, paused, cut off, stopped, and told about by systemd's protocol."""

import os
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from notify.broker.channel import connect, drop
from notify.local import PrivateServers
from notify.message import ID
from notify.schedule import Book, Put, parse_spec
from notify.topology import work_queue
from tests.broker.proxy import Proxy
from tests.deployment import Deployment, Process
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.redis]

QUEUE = work_queue("sms", "normal")
PHONE = "+491701234567"


@pytest.fixture
def ours(deploy: Callable[..., Deployment]) -> Deployment:
    """A deployment whose schedules Redis alone knows."""
    made = deploy()
    main = made.directory / "config" / "notify.toml"
    main.write_text(main.read_text() + '[schedules]\ntruth = "redis"\n')
    return made


@pytest.fixture
def book(ours: Deployment) -> Iterator[Book]:
    with closing(Book(ours.settings)) as opened:
        yield opened


def soon(seconds: float) -> datetime:
    """A whole second, at least so far ahead."""
    return (datetime.now(UTC) + timedelta(seconds=seconds + 1)).replace(microsecond=0)


def put(book: Book, name: str, **when: Any) -> None:
    values = {"channel": "sms", "recipient": PHONE, "body": f"Hello from {name}"}
    book.put(parse_spec(name, {**values, **when}))


def beat(ours: Deployment, **environ: str) -> Process:
    before = dict(ours.environ)
    ours.environ.update(environ)
    process = ours.start("beat")
    ours.environ.clear()
    ours.environ.update(before)
    ours.until_logged(process, '"event":"ready"')
    return process


def leading(ours: Deployment, *beats: Process) -> Process:
    """The one that leads."""

    def find() -> Process | None:
        led = [
            b for b in beats if b.text().count('"leading"') > b.text().count('"leading no more"')
        ]
        return led[0] if len(led) == 1 else None

    return eventually(find, "a leading beat", 30)


class Queue:
    """What came into the work queue: how often each id."""

    def __init__(self, ours: Deployment) -> None:
        self.counts: Counter[str] = Counter()
        self._connection = connect(ours.vhost_url, connect_timeout=5, read_timeout=30)
        self._channel = self._connection.channel()

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, *_: object) -> None:
        drop(self._connection)

    def drain(self) -> int:
        """How many different ones there are by now."""
        while message := self._channel.basic_get(QUEUE, no_ack=True):
            self.counts[message.headers[ID]] += 1
        return len(self.counts)


def schedules(book: Book, count: int, runs: int, first: datetime, gap: int) -> set[str]:
    """So many, each with so many runs; the ids that must come."""
    end = first + timedelta(seconds=gap * (runs - 1))
    values: dict[str, Any] = {"every": gap, "start": first, "end": end, "channel": "sms"}
    values |= {"recipient": PHONE, "body": "Hello", "misfire": {"policy": "run-all", "cap": 50}}
    spec = parse_spec("s", values)
    assert not book.put_many(Put(spec=spec.evolve(name=f"s{n}")) for n in range(count))
    instants = [first + timedelta(seconds=gap * run) for run in range(runs)]
    return {f"schedule:s{n}:{i:%Y%m%dT%H%M%SZ}" for n in range(count) for i in instants}


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["kill", "pause", "partition"])
def test_two_beats_fire_each_of_two_thousand_occurrences(
    ours: Deployment, book: Book, harm: str
) -> None:
    """The leader is lost in the middle; one that wakes up again publishes nothing of its own."""
    with Proxy(ours.settings.redis.url) as proxy, Queue(ours) as queue:
        first = beat(ours, NOTIFY_REDIS_URL=proxy.url)
        assert leading(ours, first) is first
        # It is there by the time it is needed.
        other = ours.start("beat")
        wanted = schedules(book, 400, 5, soon(4), 4)
        eventually(lambda: queue.drain() > 500, "some occurrences", 30)
        if harm == "kill":
            first.kill()
        elif harm == "pause":
            first.popen.send_signal(signal.SIGSTOP)
        else:
            proxy.pause()
        ours.until_logged(other, '"leading"', 30)
        eventually(lambda: queue.drain() >= len(wanted), "all occurrences", 40)
        if harm == "pause":
            first.popen.send_signal(signal.SIGCONT)
        proxy.flow()
        ours.until_logged(other, "schedule fired")
        assert other.stop() == 0
        queue.drain()
    assert set(queue.counts) == wanted
    # Twice only what was under way when the leader was lost: the same id, and so sent once.
    assert sum(queue.counts.values()) - len(wanted) <= 1000
    assert book.count().stored == 400


@pytest.mark.slow
def test_what_two_beats_published_is_sent_once(ours: Deployment, book: Book) -> None:
    first, other = beat(ours), ours.start("beat")
    worker = ours.start("worker", "sms", "normal")
    wanted = schedules(book, 20, 4, soon(3), 3)
    eventually(lambda: ours.sandbox.received(), "the first", 20)
    assert leading(ours, first, other) is first
    first.popen.send_signal(signal.SIGSTOP)
    ours.until_logged(other, '"leading"', 30)
    first.popen.send_signal(signal.SIGCONT)
    eventually(lambda: {r.id for r in ours.sandbox.received()} >= wanted, "all of them", 40)
    eventually(lambda: ours.ready() == 0, "an empty queue")
    assert worker.stop() == 0
    assert Counter(r.id for r in ours.sandbox.received()) == dict.fromkeys(wanted, 1)


def test_a_beat_that_is_stopped_makes_way_at_once(ours: Deployment, book: Book) -> None:
    both = [ours.start("beat"), ours.start("beat")]
    for each in both:
        ours.until_logged(each, '"event":"ready"')
    first = leading(ours, *both)
    other = next(each for each in both if each is not first)
    put(book, "tick", every=1)
    ours.until_logged(first, "schedule fired")
    began = datetime.now(UTC)
    assert first.stop() == 0
    ours.until_logged(other, '"leading"')
    ours.until_logged(other, "schedule fired")
    # Far sooner than a lock that was left behind would have run out.
    assert datetime.now(UTC) - began < timedelta(seconds=9)
    assert other.stop() == 0


@pytest.mark.slow
def test_redis_that_is_frozen_for_ten_seconds_costs_no_occurrence(
    ours: Deployment, book: Book, restartable: PrivateServers
) -> None:
    with Queue(ours) as queue:
        running = beat(ours)
        wanted = schedules(book, 20, 8, soon(3), 2)
        eventually(queue.drain, "the first occurrences", 20)
        os.kill(restartable.redis_pid, signal.SIGSTOP)
        try:
            ours.until_logged(running, "schedules wait")
            frozen = datetime.now(UTC)
            eventually(lambda: datetime.now(UTC) - frozen > timedelta(seconds=10), "ten seconds")
        finally:
            os.kill(restartable.redis_pid, signal.SIGCONT)
        eventually(lambda: queue.drain() >= len(wanted), "all occurrences", 30)
        assert running.stop() == 0
    assert set(queue.counts) == wanted


def test_a_broker_that_is_away_at_the_due_moment(ours: Deployment, book: Book) -> None:
    with Proxy(ours.vhost_url) as proxy, Queue(ours) as queue:
        running = beat(ours, NOTIFY_BROKER_URLS=proxy.url)
        put(book, "before", at=soon(2))
        eventually(lambda: queue.drain() == 1, "the first")
        proxy.pause()
        proxy.cut()
        due = soon(2)
        put(book, "once", at=due)
        ours.until_logged(running, "schedules wait", 40)
        assert queue.drain() == 1
        proxy.flow()
        eventually(lambda: queue.drain() == 2, "the second", 30)
        assert f"schedule:once:{due:%Y%m%dT%H%M%SZ}" in queue.counts
        assert running.stop() == 0
    assert running.popen.returncode == 0


KILL = """
import os, pathlib, signal
from notify.publish import Client
from notify.schedule.firing import Firing
from notify.schedule.leader import Leader
from notify.schedule.shelf import Shelf

STEPS = {{
    "look": (Shelf, "look"),
    "fire": (Firing, "fire"),
    "advance": (Shelf, "advance"),
    "renew": (Leader, "attempt"),
}}
owner, name = STEPS[{step!r}]
original = getattr(owner, name)

def harm(arguments):
    flag = pathlib.Path({flag!r})
    full = name in ("attempt", "look") or arguments[-1] and arguments[0]
    if full and pathlib.Path({armed!r}).exists() and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)

def harmful(self, *arguments, **options):
    if not {after}:
        harm(arguments)
    result = original(self, *arguments, **options)
    if {after}:
        harm(arguments)
    return result

setattr(owner, name, harmful)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "after"),
    [("look", True), ("fire", False), ("fire", True), ("advance", True), ("renew", False)],
    ids=["looked", "before-firing", "fired", "advanced", "before-renewing"],
)
def test_killed_at_any_step_it_fires_all_the_same(
    ours: Deployment, book: Book, tmp_path: Path, step: str, after: bool
) -> None:
    flag, armed = tmp_path / "killed", tmp_path / "armed"
    patch = KILL.format(step=step, after=after, flag=str(flag), armed=str(armed))
    (tmp_path / "sitecustomize.py").write_text(patch)
    killed = beat(ours, PYTHONPATH=str(tmp_path))
    second = ours.start("beat")
    instants = [soon(2.0 + n) for n in range(2)]
    armed.touch()
    for number, instant in enumerate(instants):
        put(book, f"once{number}", at=instant)
    eventually(lambda: killed.popen.poll() is not None, "its end")
    assert flag.exists()
    with closing(redis.Redis.from_url(ours.settings.redis.url)) as raw, Queue(ours) as queue:
        # As if it had run out, which would take its ten seconds.
        raw.delete(book.shelf.lock)
        eventually(lambda: queue.drain() == 2, "both")
        eventually(lambda: book.count().stored == 0, "their end")
        assert second.stop() == 0
        queue.drain()
    assert set(queue.counts) == {
        f"schedule:once{n}:{i:%Y%m%dT%H%M%SZ}" for n, i in enumerate(instants)
    }


@contextmanager
def supervisor(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(path))
        listening.settimeout(0.2)
        yield listening


def test_systemd_is_told_who_leads_and_what_is_next(
    ours: Deployment, book: Book, tmp_path: Path
) -> None:
    put(book, "daily", cron="0 9 * * *")
    with supervisor(tmp_path / "a") as first_told, supervisor(tmp_path / "b") as other_told:
        first = beat(ours, NOTIFY_SOCKET=str(tmp_path / "a"))
        said = until_told(first_told, "STATUS=leading, 1 schedules, next in ")
        assert any("READY=1" in each for each in said)
        assert any("WATCHDOG=1" in each for each in said)
        other = beat(ours, NOTIFY_SOCKET=str(tmp_path / "b"))
        waiting = f"STATUS=standing by; beat on host {socket.gethostname()} leads"
        assert any("READY=1" in each for each in until_told(other_told, waiting))
        first.popen.send_signal(signal.SIGHUP)
        until_told(first_told, "RELOADING=1")
        until_told(first_told, "READY=1")
        assert first.stop() == 0
        until_told(first_told, "STOPPING=1")
        until_told(other_told, "STATUS=leading, 1 schedules")
        assert other.stop() == 0


def until_told(listening: socket.socket, text: str) -> list[str]:
    said: list[str] = []

    def told() -> bool:
        try:
            said.append(listening.recv(1000).decode())
        except TimeoutError:
            return False
        return text in said[-1]

    eventually(told, f"systemd told {text}")
    return said


def test_a_redis_that_evicts_is_refused(ours: Deployment, restartable: PrivateServers) -> None:
    """Schedules would vanish from it without a word."""
    with closing(redis.Redis.from_url(ours.settings.redis.url)) as raw:
        raw.config_set("maxmemory-policy", "allkeys-lru")
        try:
            ended = ours.cli("beat")
        finally:
            raw.config_set("maxmemory-policy", "noeviction")
    assert ended.returncode == 3
    assert "maxmemory-policy must be noeviction" in ended.stderr
