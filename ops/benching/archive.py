"""How fast an archive is with many dead letters in it: for people, not for every test run.

    PYTHONPATH=ops .venv/bin/python -m benching.archive URL [--letters 1000000] [--more 50000]
                                                             [--archiver 0]

URL is SQLAlchemy's (sqlite:////var/tmp/bench.sqlite3, postgresql://USER:PASSWORD@HOST/NAME).
What is missing of so many letters is added first. Then some more are taken in, with the rate;
with ``--archiver`` so many come through a private RabbitMQ and the archiver. In the end come
searches and counts, each the median and the slowest of five, in milliseconds.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import pika

from benching.letters import FIRST, LAST, SPAN, letters
from benching.saying import put as say
from notify import topology
from notify.archiver import Archiver
from notify.broker import declare
from notify.deadletter import DeadLetter, encode
from notify.local import PrivateServers
from notify.store import Filter, Store

DAY = timedelta(days=1)
SIZE = 500
REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class Broker:
    """What the archiver has to know of RabbitMQ."""

    urls: tuple[str, ...]
    heartbeat: int = 30
    connect_timeout: float = 10.0
    ca_file: str | None = None


def batches(items: Iterator[DeadLetter], size: int) -> Iterator[list[DeadLetter]]:
    while some := list(islice(items, size)):
        yield some


def take_in(store: Store, begin: int, end: int, total: int) -> float:
    """Letters a second; the making of the letters is not counted."""
    seconds, told = 0.0, 0
    for some in batches(letters(begin, end, total), SIZE):
        begun = time.perf_counter()
        store.add(some)
        seconds += time.perf_counter() - begun
        told += len(some)
        if told % 100_000 == 0:
            say(f"  {begin + told} letters, so far {told / seconds:.0f}/s")
    if not told:
        return 0.0
    say(f"took in {told} after {begin}: {told / seconds:.0f}/s")
    return told / seconds


def through_the_archiver(store: Store, begin: int, number: int) -> None:
    """On a RabbitMQ of its own."""
    with tempfile.TemporaryDirectory() as directory:
        own = PrivateServers(Path(directory) / "servers", redis=False, fresh=True)
        with own as servers:
            declare(topology.build([("sms", "normal")], [1], 10), servers.broker_urls, timeout=60)
            archived(store, servers.broker_urls[0], begin, number)


def archived(store: Store, url: str, begin: int, number: int) -> float:
    """Letters a second from a queue, which is filled first, into the store."""
    publish(url, letters(begin, begin + number, begin + number))
    return run_archiver(store, Broker(urls=(url,)), number)


def publish(url: str, dead: Iterator[DeadLetter]) -> None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.tx_select()
        for some in batches(dead, SIZE):
            for each in some:
                message = encode(each, now=each.dead_at)
                properties = pika.BasicProperties(headers=message.headers, **message.properties)
                channel.basic_publish(topology.DEAD, message.routing_key, message.body, properties)
            channel.tx_commit()


class Watched:
    """A store that stops the archiver when so many letters are in."""

    def __init__(self, store: Store, number: int) -> None:
        self._store = store
        self._left = number
        self.stop = threading.Event()
        self.first = self.last = 0.0

    def create(self) -> None:
        self._store.create()

    def add(self, some: Any) -> int:
        self.first = self.first or time.perf_counter()
        added = self._store.add(some)
        self._left -= len(some)
        self.last = time.perf_counter()
        if some and self._left <= 0:
            self.stop.set()
        return added


def run_archiver(store: Store, broker: Broker, number: int) -> float:
    watched = Watched(store, number)
    begun = time.perf_counter()
    Archiver(broker, watched, stop=watched.stop).run()
    rate = number / (watched.last - begun)
    say(f"archiver: {number} letters, {rate:.0f}/s")
    return rate


def searches(number: int) -> dict[str, Filter]:
    middle = FIRST + SPAN / 2
    batch = f"file-{number // 20_000:08x}"
    return {
        "newest": Filter(),
        "oldest": Filter(oldest=True),
        "id": Filter(id="n-300"),
        "id, channel, reason, time": Filter(
            id="n-300", channel="sms", reason="refused", since=FIRST, until=LAST
        ),
        "channel, reason, time": Filter(
            channel="email", reason="refused", since=middle, until=middle + DAY
        ),
        "channel": Filter(channel="email"),
        "reason": Filter(reason="refused"),
        "rare reason": Filter(reason="poison"),
        "time": Filter(since=middle, until=middle + DAY),
        "recipient": Filter(recipient="+49170123456"),
        "label": Filter(labels=(("customer", "c-77"),)),
        "label of many": Filter(labels=(("team", "team-3"),)),
        "two labels": Filter(labels=(("team", "team-3"), ("customer", "c-77"))),
        "label of many, rare reason": Filter(labels=(("team", "team-3"),), reason="poison"),
        "batch": Filter(batch=batch),
        "batch, reason": Filter(batch=batch, reason="refused"),
        "provider, code": Filter(provider="gateway-1", code="550"),
        "provider, rare reason": Filter(provider="gateway-1", reason="poison"),
        "open": Filter(state="open"),
        "after the middle": Filter(after=number // 2, channel="sms"),
        "page 100": Filter(channel="sms", offset=5000),
        "text that is nowhere": Filter(text="no such text"),
        "text in a day": Filter(text="straße", since=middle, until=middle + DAY),
        "text in a batch": Filter(text="straße", batch=batch),
    }


def measure(what: str, work: Callable[[], object]) -> float:
    """Milliseconds, the median."""
    taken = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begun) * 1000)
    say(f"{what:45}{median(taken):9.1f}{max(taken):9.1f}")
    return median(taken)


def search(store: Store, number: int) -> dict[str, float]:
    """Milliseconds that each took in the median."""
    took = {}
    for what, wanted in searches(number).items():
        took[what] = measure(f"list {what}", partial(store.find, wanted))
        measure("  its total", partial(store.count, wanted, 10_001))
    for field in ("reason", "channel", "provider", "code", "batch", "label.team", "day", "hour"):
        measure(f"count by {field}", partial(store.counts_by, field, Filter()))
    batch = Filter(batch=f"file-{number // 20_000:08x}")
    measure("count by reason in a batch", partial(store.counts_by, "reason", batch))
    return took


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--letters", type=int, default=1_000_000)
    parser.add_argument("--more", type=int, default=50_000)
    parser.add_argument("--archiver", type=int, default=0)
    given = parser.parse_args(arguments)
    with closing(Store(given.url)) as store:
        store.create()
        there = store.count(Filter())
        if there < given.letters:
            take_in(store, there, given.letters, given.letters)
            there = given.letters
        take_in(store, there, there + given.more, there + given.more)
        there += given.more
        if given.archiver:
            through_the_archiver(store, there, given.archiver)
        search(store, given.letters)


if __name__ == "__main__":
    main(sys.argv[1:])
