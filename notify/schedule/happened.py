"""Handing what came of planned instants to whoever keeps the history."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from notify.errors import NotifyError
from notify.store.occurrences import Occurrence
from notify.telemetry import event, safe_traceback

log = logging.getLogger(__name__)

_MOST: Final = 100_000
_CHUNK: Final = 1000
_PAUSE: Final = 1.0


class Recorder(Protocol):
    """Keeps the history."""

    def record(self, happened: Sequence[Occurrence]) -> None:
        """Notes them; the same ones may come twice. Raises ``NotifyError``: they come again."""


class Recording:
    """Hands over in a thread of its own: a database that is away must not hold up a firing.

    What it could not hand over waits, up to a hundred thousand; then the oldest are dropped,
    and that is said.
    """

    def __init__(self, recorder: Recorder | None, *, most: int = _MOST) -> None:
        self._recorder = recorder
        self._waiting: deque[Occurrence] = deque()
        self._most = most
        self._dropped = 0
        self._trouble = False
        self._new = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="beat-history", daemon=True)
        if recorder is not None:
            self._thread.start()

    def add(self, happened: Sequence[Occurrence]) -> None:
        if self._recorder is None or not happened:
            return
        with self._new:
            self._waiting.extend(happened)
            self._trim()
            self._new.notify()

    def close(self, *, patience: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Hands over what is left; gives up after ``patience`` seconds."""
        if self._recorder is None:
            return
        with self._new:
            self._ending = True
            self._new.notify()
        deadline = clock() + patience
        self._thread.join(max(0.0, deadline - clock()))
        if self._waiting:
            log.warning("history not kept", extra=event(count=len(self._waiting)))

    def _run(self) -> None:
        while some := self._take():
            if self._hand_over(some):
                continue
            with self._new:
                self._waiting.extendleft(reversed(some))
                self._trim()
                if self._ending:
                    return
            time.sleep(_PAUSE)

    def _take(self) -> list[Occurrence]:
        """The next ones; none when it is over."""
        with self._new:
            self._new.wait_for(lambda: self._waiting or self._ending)
            return [self._waiting.popleft() for _ in range(min(_CHUNK, len(self._waiting)))]

    def _trim(self) -> None:
        while len(self._waiting) > self._most:
            self._waiting.popleft()
            self._dropped += 1

    def _hand_over(self, some: Sequence[Occurrence]) -> bool:
        assert self._recorder is not None
        try:
            self._recorder.record(some)
        except NotifyError as error:
            self._say(str(error))
            return False
        except Exception as error:
            # A bug there: these would fail for ever, and keep all others from the history.
            log.error("history refused", extra=event(count=len(some), error=safe_traceback(error)))
            return True
        if self._trouble or self._dropped:
            log.info("history kept again", extra=event(dropped=self._dropped))
        self._trouble, self._dropped = False, 0
        return True

    def _say(self, error: str) -> None:
        if not self._trouble:
            log.warning("history not kept for now", extra=event(error=error))
        self._trouble = True
