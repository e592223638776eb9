"""What the pipeline works with; time, chance and stopping are arguments for tests."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from notify.blocklist import Blocklist
from notify.broker import Publisher
from notify.ledger import Ledger
from notify.metrics import Metrics
from notify.routing import Router


@dataclass(frozen=True, kw_only=True)
class Tools:
    """For one channel, made once for each worker."""

    ledger: Ledger
    publisher: Publisher
    router: Router
    blocklist: Blocklist
    rungs: Sequence[int]
    pause: Callable[[float], bool]
    """Waits that many seconds, and answers whether the worker is stopping."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    random: Callable[[], float] = field(default=random.random)
    metrics: Metrics = field(default_factory=Metrics)
