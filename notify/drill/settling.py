"""When a drill has had enough faults, and when all is settled. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

ENOUGH: Final = 0.9
# The management API tells of a message some seconds late.
_QUIET: Final = 6.0
_NOTHING_COMES: Final = 20.0
_PATIENCE: Final = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far the drill is; ``left`` counts the messages in all queues, None if unknown."""

    count: int
    published: int = 0
    delivered: int = 0
    archived: int = 0
    seen: int = 0
    left: int | None = None

    @property
    def settled(self) -> int:
        """About: a notification can be both delivered and archived."""
        return min(self.count, self.delivered + self.archived)

    @property
    def enough_faults(self) -> bool:
        """They go on while there is something to disturb."""
        return self.published == self.count and self.settled >= ENOUGH * self.count


@dataclass(kw_only=True)
class Settling:
    """Watches the progress until nothing more will come."""

    clock: Callable[[], float]
    _last: Progress | None = None
    _since: float = field(default=0.0, init=False)

    def over(self, progress: Progress) -> bool:
        """Whether all queues are empty and everything is somewhere, or nothing moves any more."""
        now = self.clock()
        if progress != self._last:
            self._last, self._since = progress, now
        quiet = now - self._since
        empty = progress.left == 0
        complete = progress.published == progress.count == progress.settled
        return quiet >= (_QUIET if empty and complete else _NOTHING_COMES if empty else _PATIENCE)
