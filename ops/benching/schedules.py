"""How many schedules a beat can hold, and how fast it fires them, beside RedBeat as it comes.

    PYTHONPATH=ops .venv/bin/python -m benching.schedules [--stored 1000000] [--due 10000]
                                                           [--rounds 3] [--json FILE]

Private RabbitMQ and Redis servers are started for it and gone afterwards. Measured are

- an idle look at the schedules, with more and more of them stored and none due: milliseconds,
  median and slowest of fifty;
- how long it takes from the second in which so many are due until all are in their quorum queue,
  as the queue's depth tells: by ``notify beat``, which confirms each, and by celery's beat with
  RedBeat's scheduler, with confirms and without;
- the memory of the beat before and after that.

Both take turns in one run, on the same servers; beside what is due, as many of ours are stored.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

from redbeat import RedBeatScheduler

from benching.brokers import Taken, channel, queue_type, take_all
from benching.children import ROOT
from benching.meters import memory_mb
from benching.peers import redbeat
from benching.saying import put as say
from benching.scheduleplace import Place, place
from benching.values import Broken, Unlike
from notify.local import PrivateServers
from notify.metrics import BeatMetrics
from notify.publish import Client
from notify.schedule import Book, Put, parse_spec
from notify.schedule.desk import Desk
from notify.schedule.entries import beat_app
from notify.schedule.firing import Firing
from notify.schedule.happened import Recording
from notify.schedule.keeping import Keeping
from notify.schedule.leader import Leader
from notify.schedule.scheduler import Scheduler
from notify.schedule.spec import ScheduleSpec
from notify.topology import work_queue

LOOKS: Final = 50
QUEUE: Final = work_queue("sms", "normal")
WAIT: Final = 180.0


def spec(name: str, **when: Any) -> ScheduleSpec:
    content = {"channel": "sms", "recipient": "+491701234567", "body": f"Schedule {name} is due."}
    return parse_spec(name, {**when, **content})


def store(book: Book, begin: int, end: int) -> None:
    """Schedules that are due in an hour at the earliest."""
    base = spec("s0", cron="0 9 * * *", zone="Europe/Berlin")
    now = datetime.now(UTC) + timedelta(hours=26)
    problems = book.put_many(
        Put(spec=base.evolve(name=f"s{n}"), watermark=now) for n in range(begin, end)
    )
    if problems:
        raise Broken(f"schedules: {next(iter(problems.items()))}")


def forget(at: Place) -> None:
    at.redis.flushdb(asynchronous=True)
    while at.redis.info("memory")["used_memory"] > 10e6:
        time.sleep(0.1)


def timed(look: Callable[[], object]) -> dict[str, float]:
    took = []
    for _ in range(LOOKS):
        began = time.perf_counter()
        look()
        took.append((time.perf_counter() - began) * 1000)
    return {"median_ms": round(median(took), 3), "slowest_ms": round(max(took), 3)}


@contextmanager
def scheduler(at: Place, book: Book) -> Iterator[Scheduler]:
    with ExitStack() as stack:
        client = stack.enter_context(Client(at.settings))
        leader = Leader(at.settings.redis.url, book.shelf.lock, timeout=2.0)
        leader.start()
        stack.callback(leader.stop)
        desk = Desk(
            book=book,
            leader=leader,
            firing=Firing(at.settings, client),
            recording=Recording(None),
            metrics=BeatMetrics(),
            keeping=Keeping(None, leader, None),  # type: ignore[arg-type]
        )
        yield Scheduler(beat_app(at.settings), desk=desk, max_interval=1.0)


def sizes(most: int) -> list[int]:
    return [size for size in (1_000, 10_000, 100_000, 1_000_000) if size < most] + [most]


def idle_ours(at: Place, most: int) -> dict[int, dict[str, float]]:
    found, there = {}, 0
    with closing(Book(at.settings)) as book:
        for size in sizes(most):
            began = time.monotonic()
            store(book, there, size)
            rate = (size - there) / (time.monotonic() - began)
            with scheduler(at, book) as ours:
                found[size] = timed(ours.look)
            found[size]["redis_mb"] = round(at.redis.info("memory")["used_memory"] / 1e6, 1)
            say(f"  ours   {size:>9,} stored: {found[size]} (stored {rate:,.0f}/s)")
            there = size
    return found


def idle_stock(at: Place, most: int) -> dict[int, dict[str, float]]:
    found, there = {}, 0
    app = redbeat.stock_app(at.broker_url)
    stock = RedBeatScheduler(app, max_interval=1)
    stock.lock_key = None
    ahead = datetime.now(UTC) + timedelta(hours=26)
    for size in sizes(most):
        redbeat.store_stock(at.redis, there, size, ahead)
        found[size] = timed(stock.tick)
        found[size]["redis_mb"] = round(at.redis.info("memory")["used_memory"] / 1e6, 1)
        say(f"  stock  {size:>9,} stored: {found[size]}")
        there = size
    return found


def depth(opened: Any, queue: str) -> int:
    return int(opened.queue_declare(queue, passive=True).message_count)


def watch(at: Place, queue: str, due: int, planned: datetime, pid: int) -> dict[str, float]:
    """Seconds from the planned instant until the first, and until all are in the queue."""
    before, first, peak = memory_mb([pid]), 0.0, 0.0
    deadline = planned.timestamp() + WAIT
    with channel(at.broker_url) as opened:
        while (count := depth(opened, queue)) < due:
            now = time.time()
            first = first or (now - planned.timestamp() if count else 0.0)
            if now > deadline:
                raise Broken(f"{count} of {due} after {WAIT} s")
            time.sleep(0.02)
            peak = max(peak, memory_mb([pid]))
        last = time.time() - planned.timestamp()
    return {
        "first_s": round(first, 2),
        "all_s": round(last, 2),
        "per_second": round(due / last),
        "memory_before_mb": round(before, 1),
        "memory_peak_mb": round(peak, 1),
    }


def check(at: Place, queue: str, due: int) -> None:
    """Empties a quorum queue, in which each that was due must be once. Raises ``Unlike``."""
    kind = queue_type(at.servers.management_url, at.broker_url, queue)
    taken = take_all(at.broker_url, queue)
    names = {_name(each) for each in taken}
    if not len(taken) == len(names) == due:
        raise Unlike(f"{queue}: {len(taken)} messages of {len(names)} schedules, {due} were due")
    if kind != "quorum":
        raise Unlike(f"{queue} is a {kind} queue")


def _name(taken: Taken) -> str:
    notification = json.loads(taken.body)[1]["notification"]
    value = json.loads(notification) if isinstance(notification, str) else notification
    return str(value["id"])


def burst_ours(at: Place, due: int, number: int) -> dict[str, float]:
    with closing(Book(at.settings)) as book, process(at, "-m", "notify", "beat") as pid:
        planned = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=at.ahead)
        base = spec("s", at=planned)
        names = (f"burst-{number}-{n}" for n in range(due))
        if problems := book.put_many(Put(spec=base.evolve(name=name)) for name in names):
            raise Broken(f"schedules: {next(iter(problems.items()))}")
        if datetime.now(UTC) > planned - timedelta(seconds=2):
            raise Broken("schedules: stored too slowly")
        found = watch(at, QUEUE, due, planned, pid)
    check(at, QUEUE, due)
    return found


def burst_stock(at: Place, due: int, confirm: bool) -> dict[str, float]:
    planned = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=at.ahead)
    redbeat.store_stock(at.redis, 10_000_000, 10_000_000 + due, planned - timedelta(hours=1))
    at.redis.delete(f"{redbeat.PREFIX}:lock")
    way = "confirm" if confirm else "plain"
    with process(at, "-m", "benching.peers.redbeat", way) as pid:
        found = watch(at, redbeat.STOCK, due, planned, pid)
    check(at, redbeat.STOCK, due)
    return found


@contextmanager
def process(at: Place, *arguments: str) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, *arguments], env=at.environ, cwd=ROOT, stderr=subprocess.DEVNULL
    ) as running:
        try:
            yield running.pid
        finally:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()


def measure(at: Place, stored: int, due: int, rounds: int) -> dict[str, Any]:
    say("idle look, none due:")
    idle = {"stock": idle_stock(at, stored)}
    forget(at)
    idle["ours"] = idle_ours(at, stored)
    say(f"{due:,} due in one second, {stored:,} stored:")
    with closing(redbeat.stock_app(at.broker_url).connection_for_write()) as connection:
        redbeat.stock_app(at.broker_url).amqp.queues[redbeat.STOCK](connection.channel()).declare()
    burst: dict[str, list[dict[str, float]]] = {"ours": [], "confirm": [], "plain": []}
    for number in range(rounds):
        burst["ours"].append(burst_ours(at, due, number))
        say(f"  notify beat:            {burst['ours'][-1]}")
        for name in ("confirm", "plain"):
            burst[name].append(burst_stock(at, due, name == "confirm"))
            say(f"  RedBeat, {name:<15} {burst[name][-1]}")
    typical = {name: median(r["all_s"] for r in rows) for name, rows in burst.items()}
    ratios = {name: round(typical[name] / typical["ours"], 1) for name in ("confirm", "plain")}
    say(f"median: {typical} s; RedBeat takes {ratios} times as long")
    return {"idle": idle, "burst": burst, "median_s": typical, "times_as_long": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stored", type=int, default=1_000_000)
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notify-bench-")))
        servers = stack.enter_context(PrivateServers(folder / "servers", fresh=True))
        at = stack.enter_context(place(folder, servers))
        found = measure(at, given.stored, given.due, given.rounds)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
