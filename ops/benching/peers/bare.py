"""The least that can be done: threads that post with a session each, and nothing else."""

import threading
from collections.abc import Iterator
from typing import Any

import requests

from benching.peers import requesting, settings
from benching.work import plain, texts


class Shared:
    """An iterator for many threads."""

    def __init__(self, items: Iterator[dict[str, Any]]) -> None:
        self._items = items
        self._lock = threading.Lock()

    def next(self) -> dict[str, Any] | None:
        with self._lock:
            return next(self._items, None)


def post(shared: Shared) -> None:
    with requests.Session() as session:
        while (notification := shared.next()) is not None:
            requesting.post(notification, session.post)


def main() -> None:
    shared = Shared(plain(each) for each in texts(settings.number(settings.COUNT)))
    threads = [
        threading.Thread(target=post, args=(shared,))
        for _ in range(settings.number(settings.THREADS))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
