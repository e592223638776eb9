"""When the next row may go: so many a second, evenly. Pure."""

from typing import Final

# A sleep that lasted too long is made up for, a pause is not.
_CATCH_UP: Final = 0.1


class Pacer:
    """``rate`` in rows per second, 0 for no limit; times are seconds of one clock."""

    def __init__(self, rate: float) -> None:
        self._interval = 1 / rate if rate > 0 else 0.0
        self._next: float | None = None

    def wait(self, now: float) -> float:
        """Seconds until the next row may go."""
        return 0.0 if self._next is None else max(0.0, self._next - now)

    def went(self, now: float) -> None:
        """A row went just now."""
        if self._interval:
            planned = now if self._next is None else max(self._next, now - _CATCH_UP)
            self._next = planned + self._interval
