"""The Redis connection of the limits."""

from collections.abc import Callable, Sequence
from typing import Any

from notify.redisclient import Line, Question, Script


class Connection:
    """Runs scripts. Thread-safe.

    ``clock`` (epoch seconds) takes the place of the Redis server's clock: for tests of
    midnights and of long times.
    """

    def __init__(self, url: str, *, timeout: float, clock: Callable[[], float] | None) -> None:
        self._clock = clock
        self._line = Line(url, timeout)

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """What a script answers. Raises ``LedgerUnavailable``.

        Its first argument is the time in microseconds, empty for the server's own.
        """
        question: Question[Any] = self.asking(script, keys, arguments)
        return self._line.get(question)

    def asking(
        self, script: Script, keys: Sequence[str], arguments: Sequence[Any], *, needed: bool = True
    ) -> Question[Any]:
        """The same, to be asked beside something else by the same server."""
        now = "" if self._clock is None else micros(self._clock())
        return script.question(keys, (now, *arguments), needed=needed)

    def ask(self, questions: Sequence[Question[Any]]) -> None:
        self._line.ask(*questions)

    def close(self) -> None:
        self._line.close()


def micros(seconds: float) -> int:
    """Whole microseconds, at least as long."""
    return -int(-seconds * 1e6 // 1)
