"""The seam to whoever sends a firing to many: a file's rows, or a function's.

The beat does not read audiences: it notes a firing with a ``Fanout`` before the schedule goes on,
and that sees to the rest in its own time.
"""

from datetime import datetime
from typing import Protocol

from notify.errors import InvalidInput
from notify.schedule.spec import ScheduleSpec


class Fanout(Protocol):
    """Sends firings to audiences."""

    def check(self, spec: ScheduleSpec) -> None:
        """Raises ``InvalidInput`` where it could not send to this schedule's audience."""

    def start(self, spec: ScheduleSpec, planned: datetime, actual: datetime) -> str:
        """Returns the batch's name when it is noted durably that this firing is to be sent.

        Whoever calls it again for the same planned instant gets the same batch, which goes on
        where it was. Raises ``NotifyError``: it is tried again within the misfire window.
        """


def check_audience(spec: ScheduleSpec, fanout: Fanout | None) -> None:
    """Raises ``InvalidInput`` for an audience that nobody here would send to."""
    if spec.audience.recipient is not None:
        return
    if fanout is None:
        raise InvalidInput("file, python: schedules for an audience cannot be fired here")
    fanout.check(spec)
