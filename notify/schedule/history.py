"""What became of planned instants, in the archive's database: beats write, people read."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from notify.config import Settings
from notify.store.occurrences import Occurrence, Occurrences


class History:
    """A ``Recorder``. Methods raise ``StoreUnavailable``."""

    def __init__(self, settings: Settings) -> None:
        self._occurrences = Occurrences(settings.archive.url)
        self._made = False

    def close(self) -> None:
        self._occurrences.close()

    def record(self, happened: Sequence[Occurrence]) -> None:
        """Notes them; what is noted already stays as it is. One-shots come to their end by it."""
        self._make()
        self._occurrences.add(happened)

    def of(
        self,
        schedule: str,
        *,
        limit: int = 50,
        before: datetime | None = None,
        outcome: str | None = None,
    ) -> list[Occurrence]:
        """The latest planned first."""
        self._make()
        return self._occurrences.of(schedule, limit=limit, before=before, outcome=outcome)

    def counts(self, schedule: str) -> dict[str, int]:
        """How many planned instants came to each outcome, as far as is remembered."""
        self._make()
        return self._occurrences.counts(schedule)

    def last(self, schedules: Iterable[str]) -> dict[str, datetime]:
        """Up to which planned instant everything is over, of those of which that is known."""
        self._make()
        return self._occurrences.last(schedules)

    def recent(self, since: datetime) -> list[str]:
        """The schedules of which an instant came to its end since."""
        self._make()
        return self._occurrences.recent(since)

    def purge(self, before: datetime) -> int:
        """Deletes what happened before, but for the last of each schedule that lives."""
        self._make()
        return self._occurrences.purge(before)

    def _make(self) -> None:
        """When it is first needed: the beat starts while the database is away."""
        if not self._made:
            self._occurrences.create()
            self._made = True
