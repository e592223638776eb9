"""How much is done in each form: the short one for function, the usual one, the full one."""

from dataclasses import dataclass, replace
from typing import Any, Final, Self


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Numbers of messages, and seconds."""

    form: str
    rounds: int
    # Threads of each worker, whoever's.
    threads: int = 16
    # Sends under way in the scenario with a slow gateway.
    many: int = 450
    published: int
    delivered: int
    slow: int
    mails: int
    ladder: int
    failing: int
    # Queued before urgent ones are measured; how many a second of these, and for how long.
    queued: int
    urgent_rate: float
    urgent_seconds: float
    # Queued while so many are delivered.
    scale: tuple[int, ...]
    scale_sample: int
    soak_minutes: float
    idle_seconds: float
    letters: int
    schedules: int
    due: int
    # How far ahead schedules are put that all are due at once.
    ahead: int

    def evolve(self, **changes: Any) -> Self:
        return replace(self, **changes)


SHORT: Final = Sizes(
    form="short",
    rounds=1,
    many=32,
    published=200,
    delivered=120,
    slow=120,
    mails=60,
    ladder=200,
    failing=40,
    queued=20_000,
    urgent_rate=20.0,
    urgent_seconds=0.5,
    scale=(800, 1_600),
    scale_sample=100,
    soak_minutes=0.03,
    idle_seconds=1.0,
    letters=300,
    schedules=100,
    due=20,
    ahead=8,
)
USUAL: Final = Sizes(
    form="usual",
    rounds=3,
    published=12_000,
    delivered=8_000,
    slow=16_000,
    mails=10_000,
    ladder=10_000,
    failing=2_000,
    queued=120_000,
    urgent_rate=50.0,
    urgent_seconds=20.0,
    scale=(5_000, 20_000),
    scale_sample=3_000,
    soak_minutes=0.5,
    idle_seconds=30.0,
    letters=20_000,
    schedules=10_000,
    due=2_000,
    ahead=20,
)
FULL: Final = USUAL.evolve(
    form="full",
    queued=1_000_000,
    urgent_seconds=60.0,
    scale=(10_000, 100_000, 1_000_000),
    scale_sample=6_000,
    soak_minutes=60.0,
    idle_seconds=60.0,
    letters=150_000,
    schedules=1_000_000,
    due=10_000,
)
FORMS: Final = {each.form: each for each in (SHORT, USUAL, FULL)}
