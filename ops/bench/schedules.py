"""How many schedules a beat can hold, and how fast it fires them, beside RedBeat as it comes.

    .venv/bin/python ops/bench/schedules.py [--stored 1000000] [--due 10000] [--rounds 3]
                                              [--json FILE]

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
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

import redis
from celery import Celery
from celery.schedules import schedule
from kombu import Exchange, Queue
from redbeat import RedBeatScheduler
from redbeat.decoder import RedBeatJSONEncoder

from notify import provision
from notify.broker.channel import connect, drop
from notify.config import Settings, load_settings
from notify.local import PrivateServers, Servers
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

ROOT: Final = Path(__file__).parents[2]
LOOKS: Final = 50
STOCK: Final = "stock"
STOCK_PREFIX: Final = "stock:"
QUEUE: Final = work_queue("sms", "normal")
WAIT: Final = 180.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where it is measured."""

    servers: Servers
    broker_url: str
    settings: Settings
    environ: Mapping[str, str]
    redis: Any


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notify-bench-")))
        servers = stack.enter_context(PrivateServers(folder / "servers", fresh=True))
        config = folder / "config"
        shutil.copytree(ROOT / "config", config)
        main = config / "notify.toml"
        # Schedules are stored past the database here: a million rows are not what is measured.
        main.write_text(main.read_text().replace('truth = "database"', 'truth = "redis"'))
        url = servers.broker_urls[0].rpartition("/")[0] + "/bench"
        environ = dict(os.environ) | servers.environment()
        environ |= {
            "NOTIFY_CONFIG": str(config),
            "NOTIFY_BROKER_URLS": url,
            "NOTIFY_REDIS_PREFIX": "bench",
            "NOTIFY_ARCHIVE_URL": f"sqlite:///{folder}/archive.sqlite3",
            "NOTIFY_METRICS_FIRST_PORT": "0",
        }
        settings = load_settings(environ=environ)
        provision.declare_all(settings)
        client = redis.Redis.from_url(servers.redis_url, socket_timeout=120)
        stack.enter_context(closing(client))
        yield Place(
            servers=servers, broker_url=url, settings=settings, environ=environ, redis=client
        )


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
    assert not problems, next(iter(problems.items()))


def stock_entry(name: str, last: datetime) -> tuple[str, str]:
    definition = {
        "name": name,
        "task": "notify.deliver",
        "args": [],
        "kwargs": {"notification": json.dumps({"id": name, "body": f"Schedule {name} is due."})},
        "options": {"queue": STOCK},
        "schedule": schedule(run_every=3600.0, app=stock_app(Place)),
        "enabled": True,
    }
    meta = {"last_run_at": last, "total_run_count": 0}
    return json.dumps(definition, cls=RedBeatJSONEncoder), json.dumps(meta, cls=RedBeatJSONEncoder)


def stock_app(at: Any, *, confirm: bool = False, timeout: int = 600) -> Celery:
    """Celery with RedBeat, as their documentation sets them up for a quorum queue."""
    app = Celery("stock", set_as_current=False)
    queue = Queue(
        STOCK,
        Exchange(STOCK, type="topic"),
        routing_key=STOCK,
        queue_arguments={"x-queue-type": "quorum"},
    )
    app.conf.update(
        broker_url=getattr(at, "broker_url", None),
        broker_transport_options={"confirm_publish": confirm},
        task_queues=[queue],
        task_default_queue=STOCK,
        task_default_exchange_type="topic",
        task_ignore_result=True,
        result_backend=None,
        redbeat_redis_url=os.environ.get("STOCK_REDIS", "redis://127.0.0.1:6379/0"),
        redbeat_key_prefix=STOCK_PREFIX,
        redbeat_lock_timeout=timeout,
        redbeat_redis_options={"socket_timeout": 30},
        beat_max_loop_interval=1,
    )
    return app


def store_stock(at: Place, begin: int, end: int, last: datetime) -> None:
    """What ``RedBeatSchedulerEntry.save`` writes, many at once."""
    score = int(last.timestamp()) + 3600
    definition, meta = stock_entry("NAME", last)
    for start in range(begin, end, 5000):
        with at.redis.pipeline(transaction=False) as pipe:
            for n in range(start, min(start + 5000, end)):
                key = f"{STOCK_PREFIX}q{n}"
                fields = {"definition": definition.replace("NAME", f"q{n}"), "meta": meta}
                pipe.hset(key, mapping=fields)
                pipe.zadd(f"{STOCK_PREFIX}:schedule", {key: score})
            pipe.execute()


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
    app = stock_app(at)
    stock = RedBeatScheduler(app, max_interval=1)
    stock.lock_key = None
    ahead = datetime.now(UTC) + timedelta(hours=26)
    for size in sizes(most):
        store_stock(at, there, size, ahead)
        found[size] = timed(stock.tick)
        found[size]["redis_mb"] = round(at.redis.info("memory")["used_memory"] / 1e6, 1)
        say(f"  stock  {size:>9,} stored: {found[size]}")
        there = size
    return found


def depth(channel: Any, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).message_count)


def memory(pid: int) -> float:
    """Megabytes that are resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def watch(at: Place, queue: str, due: int, planned: datetime, pid: int) -> dict[str, float]:
    """Seconds from the planned instant until the first, and until all are in the queue."""
    connection = connect(at.broker_url, connect_timeout=5, read_timeout=30)
    channel = connection.channel()
    before, first, peak = memory(pid), 0.0, 0.0
    deadline = planned.timestamp() + WAIT
    while (count := depth(channel, queue)) < due:
        now = time.time()
        first = first or (now - planned.timestamp() if count else 0.0)
        assert now < deadline, f"{count} of {due} after {WAIT} s"
        time.sleep(0.02)
        peak = max(peak, memory(pid))
    last = time.time() - planned.timestamp()
    channel.queue_purge(queue)
    drop(connection)
    return {
        "first_s": round(first, 2),
        "all_s": round(last, 2),
        "per_second": round(due / last),
        "memory_before_mb": round(before, 1),
        "memory_peak_mb": round(peak, 1),
    }


def burst_ours(at: Place, due: int, number: int) -> dict[str, float]:
    with closing(Book(at.settings)) as book, process(at, "-m", "notify", "beat") as pid:
        planned = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=20)
        base = spec("s", at=planned)
        names = (f"burst-{number}-{n}" for n in range(due))
        assert not book.put_many(Put(spec=base.evolve(name=name)) for name in names)
        assert datetime.now(UTC) < planned - timedelta(seconds=2), "stored too slowly"
        return watch(at, QUEUE, due, planned, pid)


def burst_stock(at: Place, due: int, confirm: bool) -> dict[str, float]:
    planned = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=20)
    store_stock(at, 10_000_000, 10_000_000 + due, planned - timedelta(hours=1))
    at.redis.delete(f"{STOCK_PREFIX}:lock")
    arguments = ("--stock", "confirm" if confirm else "plain")
    with process(at, str(Path(__file__).resolve()), *arguments) as pid:
        return watch(at, STOCK, due, planned, pid)


@contextmanager
def process(at: Place, *arguments: str) -> Iterator[int]:
    environ = dict(at.environ) | {"STOCK_REDIS": at.servers.redis_url}
    with subprocess.Popen(
        [sys.executable, *arguments], env=environ, cwd=ROOT, stderr=subprocess.DEVNULL
    ) as running:
        try:
            yield running.pid
        finally:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()


def run_stock(confirm: bool) -> None:
    """The process that is measured against: celery's beat with RedBeat's scheduler."""
    from celery.beat import Service

    at = argparse.Namespace(broker_url=os.environ["NOTIFY_BROKER_URLS"])
    app = stock_app(at, confirm=confirm)
    Service(app, max_interval=1, scheduler_cls=RedBeatScheduler).start()


def measure(at: Place, stored: int, due: int, rounds: int) -> dict[str, Any]:
    say("idle look, none due:")
    idle = {"stock": idle_stock(at, stored)}
    forget(at)
    idle["ours"] = idle_ours(at, stored)
    say(f"{due:,} due in one second, {stored:,} stored:")
    with closing(stock_app(at).connection_for_write()) as connection:
        stock_app(at).amqp.queues[STOCK](connection.channel()).declare()
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
    parser.add_argument("--stock", choices=("confirm", "plain"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stock:
        run_stock(given.stock == "confirm")
        return
    with place() as at:
        os.environ["STOCK_REDIS"] = at.servers.redis_url
        found = measure(at, given.stored, given.due, given.rounds)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
