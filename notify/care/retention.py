"""The configured retention: what goes, and at a pace that the archiver does not notice."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from notify.config import RetentionSettings
from notify.store import Filter, Purge, Store
from notify.telemetry import event

log = logging.getLogger(__name__)

# Between two short transactions.
PAUSE: Final = 0.25


def plans(settings: RetentionSettings, now: datetime) -> list[Purge]:
    """One for each limit; what any of them dooms goes."""
    open_before = now - timedelta(seconds=settings.keep_open)
    found = [
        Purge(
            wanted=Filter(reason=each.reason, channel=each.channel),
            before=now - timedelta(seconds=each.keep),
            open_before=open_before,
        )
        for each in settings.keep_less
    ]
    if settings.keep is not None:
        before = now - timedelta(seconds=settings.keep)
        found.append(Purge(wanted=Filter(), before=before, open_before=open_before))
    if settings.keep_most is not None:
        found.append(Purge(wanted=Filter(), keep=settings.keep_most, open_before=open_before))
    return found


def purge(
    store: Store, settings: RetentionSettings, now: datetime, stop: Callable[[], bool]
) -> int:
    """Deletes what is doomed, until ``stop``, which is asked between two short transactions;
    returns how many letters."""
    total = 0
    for plan in plans(settings, now):
        number = store.purge(plan, stop)
        total += number
        if stop():
            break
    if total:
        log.info("purged", extra=event(letters=total))
    return total
