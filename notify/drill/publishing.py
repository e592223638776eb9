"""Publishes the drill's notifications at a steady rate, each until it is confirmed."""

import threading
import time
from collections.abc import Sequence
from typing import Final

from notify.config import Settings
from notify.drill.traffic import Item
from notify.errors import Unavailable
from notify.publish import Client

_TICK: Final = 0.2
# Longer than any server is away in a drill.
_PATIENCE: Final = 120.0


class Publishing:
    """What was not confirmed is published again with the same id, as any caller would."""

    def __init__(
        self, settings: Settings, items: Sequence[Item], *, http_url: str, rate: float
    ) -> None:
        self._settings = settings
        self._items = items
        self._http_url = http_url
        self._rate = rate
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drill-publish", daemon=True)
        self.confirmed: set[str] = set()
        self.repeats = 0
        self.error: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def abandon(self) -> None:
        self._leaving.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with Client(self._settings) as client:
                self._publish_all(client)
        except Exception as error:  # raised again by the drill, which looks here
            self.error = error

    def _publish_all(self, client: Client) -> None:
        """Whoever was held up publishes on at the same rate: callers keep no backlog."""
        size = max(1, round(self._rate * _TICK))
        due = time.monotonic()
        for first in range(0, len(self._items), size):
            due = max(due + size / self._rate, time.monotonic())
            if self._leaving.wait(due - time.monotonic()):
                return
            self._until_confirmed(client, self._items[first : first + size])

    def _until_confirmed(self, client: Client, items: Sequence[Item]) -> None:
        give_up = time.monotonic() + _PATIENCE
        open_items = {item.id: item for item in items}
        while open_items and not self._leaving.is_set():
            made = [item.notification(self._http_url) for item in open_items.values()]
            problem = None
            for sent in client.send_many(made):
                problem = sent.error or problem
                if sent.error is None:
                    self.confirmed.add(sent.id)
                    del open_items[sent.id]
            if problem is None:
                return
            if time.monotonic() > give_up:
                raise Unavailable(f"publishing fails for {_PATIENCE:.0f} s: {problem}")
            self.repeats += len(open_items)
            self._leaving.wait(_TICK)
