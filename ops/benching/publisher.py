"""One run of one publisher, in a process of its own.

    python -m benching.publisher KIND COUNT [SAMPLE]

Prints, as JSON, how many seconds it took until the last was confirmed, and the processor time.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from benching.saying import put
from benching.work import ids, plain, publish_all, text
from notify import Client, Notification, load_settings

THREADS: Final = 32
Act = Callable[[], None]


def notifications(count: int) -> Iterator[Notification]:
    return map(text, ids(count))


def ours_many(count: int, sample: Path) -> Act:
    client = Client(load_settings())

    def act() -> None:
        publish_all(client, notifications(count))

    return act


def ours_one(count: int, sample: Path) -> Act:
    client = Client(load_settings())

    def act() -> None:
        for notification in notifications(count):
            client.send(notification)

    return act


def ours_threads(count: int, sample: Path) -> Act:
    client = Client(load_settings())

    def act() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(client.send, notifications(count), chunksize=1):
                pass

    return act


def celery(count: int, sample: Path) -> Act:
    from benching.peers.celeryapp import deliver

    def act() -> None:
        for notification in notifications(count):
            deliver.apply_async(kwargs={"notification": plain(notification)}, mandatory=True)

    return act


def _raw(library: str, exchange: str = "notify") -> Callable[[int, Path], Act]:
    def prepare(count: int, sample: Path) -> Act:
        from benching.peers import raw
        from benching.samples import copies, load

        id, message = load(sample, exchange)
        messages = list(copies(message, id, ids(count)))
        publish = {"amqp": raw.with_amqp, "pika": raw.with_pika}[library]
        return lambda: publish(os.environ["NOTIFY_BROKER_URLS"], messages)

    return prepare


KINDS: Final[dict[str, Callable[[int, Path], Act]]] = {
    "ours-many": ours_many,
    "ours-one": ours_one,
    "ours-threads": ours_threads,
    "celery": celery,
    "amqp": _raw("amqp"),
    "pika": _raw("pika"),
    # Into a rung of the ladder, from where they return to the work queue.
    "rung": _raw("amqp", "notify.delay.normal.5s"),
}


def main(kind: str, count: str, sample: str = "") -> None:
    act = KINDS[kind](int(count), Path(sample))
    begun, used = time.perf_counter(), time.process_time()
    act()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    put(json.dumps({"seconds": seconds, "cpu": cpu}))


if __name__ == "__main__":
    main(*sys.argv[1:])
