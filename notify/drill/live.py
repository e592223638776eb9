"""Urgent traffic at a steady pace, and how long each notification takes to the gateway."""

import threading
import time
from typing import Final

from notify.config import Settings
from notify.notification import Notification
from notify.publish import Client

_EVERY: Final = 0.1


class LiveTraffic:
    """Publishes one urgent text ten times a second while entered."""

    def __init__(self, settings: Settings, run: str) -> None:
        self._settings = settings
        self._run = run
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._publish, name="drill-live", daemon=True)
        self.published: dict[str, float] = {}
        self.error: Exception | None = None

    def __enter__(self) -> "LiveTraffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join()

    def _publish(self) -> None:
        try:
            with Client(self._settings) as client:
                while not self._leaving.wait(_EVERY):
                    self._publish_one(client)
        except Exception as error:  # raised again by the drill, which looks here
            self.error = error

    def _publish_one(self, client: Client) -> None:
        number = len(self.published)
        id, at = f"live-{self._run}:{number}", time.time()
        client.send(
            Notification(
                id=id,
                channel="sms",
                recipient=f"+49151{number:08d}",
                body=f"This is live notification {number}.",
                priority="urgent",
            )
        )
        self.published[id] = at
