"""A worker that leaves the processor to others."""

import logging
import os

from notify.telemetry import event

log = logging.getLogger(__name__)


def yield_to_others(nice: int) -> None:
    """At least so nice, from 0 to 19, as nice(2) has it; for threads that are started from now on.

    Where that is forbidden it is logged, and the worker runs as it is.
    """
    if os.getpriority(os.PRIO_PROCESS, 0) >= nice:
        return
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    except OSError as error:
        log.warning("cannot be nice", extra=event(nice=nice, error=error.strerror))
