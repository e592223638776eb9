"""The least that can be done: threads that post with a session each, and nothing else."""

import threading
from collections.abc import Iterator
from typing import Any

import requests

from benching.peers import settings
from benching.peers.requesting import body, headers
from benching.work import plain, texts


class Shared:
    """An iterator for many threads."""

    def __init__(self, items: Iterator[dict[str, Any]]) -> None:
        self._items = items
        self._lock = threading.Lock()

    def next(self) -> dict[str, Any] | None:
        with self._lock:
            return next(self._items, None)


def post(shared: Shared, url: str) -> None:
    with requests.Session() as session:
        while (notification := shared.next()) is not None:
            answer = session.post(
                url,
                data=body(notification),
                headers=headers(notification["id"]),
                timeout=settings.TIMEOUT,
            )
            answer.raise_for_status()


def main() -> None:
    shared = Shared(plain(each) for each in texts(settings.number(settings.COUNT)))
    arguments = (shared, settings.told(settings.URL))
    threads = [
        threading.Thread(target=post, args=arguments)
        for _ in range(settings.number(settings.THREADS))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
