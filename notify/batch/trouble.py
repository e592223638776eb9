"""When nothing is confirmed: how long to wait before the next try, and when to give up. Pure."""

from typing import Final

from notify.errors import NotifyError, QueueFull

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 15.0


class Trouble:
    """Pauses grow; a confirm ends the trouble. Times are seconds of one clock.

    There is patience once something was confirmed, and with a queue that is full: a broker that
    is not there from the beginning is for whoever started this.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._worked = False
        self._calm()

    def over(self) -> None:
        """Something was confirmed."""
        self._worked = True
        self._calm()

    def _calm(self) -> None:
        self.until = 0.0
        self._since: float | None = None
        self._pause = _FIRST_PAUSE
        self._error: NotifyError | None = None

    def note(self, error: NotifyError, now: float) -> None:
        """A row was not confirmed; those that come together count once."""
        self._error = error
        if self._since is None:
            self._since = now
        if now >= self.until:
            self.until = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def check(self, now: float) -> None:
        """Raises the last error once nothing was confirmed for longer than the patience."""
        if self._error is None or self._since is None:
            return
        patient = self._worked or isinstance(self._error, QueueFull)
        if not patient or now - self._since > self._patience:
            raise self._error
