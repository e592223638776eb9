"""A fan-out that is waited for only so long: what sends to many stands in a database and files.

These promise no answer, and while one firing waits for them all the others would. One that took too
long goes on in its thread; as a firing is noted once however often that is asked for, nothing is
lost or sent twice by asking again.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from typing import Final

from notify.errors import StoreUnavailable
from notify.schedule.fanout import Fanout
from notify.schedule.spec import ScheduleSpec

_PATIENCE: Final = 5.0
_SILENT: Final = "the archive's database does not answer"


class Patient:
    """A ``Fanout`` for one thread. Raises ``StoreUnavailable`` instead of waiting any longer."""

    def __init__(self, fanout: Fanout, *, patience: float = _PATIENCE) -> None:
        self._fanout = fanout
        self._patience = patience
        self._thread: threading.Thread | None = None

    @property
    def stuck(self) -> bool:
        """Whether one is still under way that took too long."""
        return self._thread is not None and self._thread.is_alive()

    def check(self, spec: ScheduleSpec) -> None:
        self._fanout.check(spec)

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        if self.stuck:
            raise StoreUnavailable(_SILENT)
        answer: Future[str] = Future()
        act = partial(self._fanout.start, spec, planned, actual)
        thread = threading.Thread(target=_fill, args=(answer, act), name="beat-fanout", daemon=True)
        thread.start()
        try:
            return answer.result(self._patience)
        except TimeoutError:
            self._thread = thread
            raise StoreUnavailable(_SILENT) from None


def _fill(answer: "Future[str]", act: Callable[[], str]) -> None:
    try:
        answer.set_result(act())
    except BaseException as error:
        answer.set_exception(error)
