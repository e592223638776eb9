"""Recipients, and a clock."""

from datetime import UTC, datetime
from typing import Final

PHONE: Final = "+491701234567"
MAIL: Final = "ada@example.com"
HOOK: Final = "https://example.com/hook/token-271828"
DAY: Final = 86400.0


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.5

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds

    @property
    def instant(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)
