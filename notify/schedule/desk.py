"""What the beat works with."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from notify.metrics import BeatMetrics
from notify.schedule.book import Book
from notify.schedule.clocks import Clocks
from notify.schedule.firing import Firing
from notify.schedule.happened import Recording
from notify.schedule.keeping import Keeping
from notify.schedule.leader import Leader
from notify.schedule.shelf import Shelf


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Everything that is made before the first tick, and outlives the last."""

    book: Book
    leader: Leader
    firing: Firing
    recording: Recording
    metrics: BeatMetrics
    keeping: Keeping
    status: Callable[[str], None] = lambda _: None
    alive: Callable[[], None] = lambda: None
    stopping: threading.Event = field(default_factory=threading.Event)
    clocks: Clocks = field(default_factory=Clocks)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def shelf(self) -> Shelf:
        return self.book.shelf
