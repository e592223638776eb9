"""What a run knows of its batch beyond what the archive has."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from notify.batch.frontier import Frontier
from notify.store.batches import FINISHED, WITH_FAILURES, Batch, BatchFailure, BatchProgress

_REJECTED: Final = "rejected"
_FAILED: Final = "failed"


class Progress:
    """Counts are of the rows up to the cursor, so that noted with it they are true with it."""

    def __init__(self, batch: Batch, failing: Iterable[int]) -> None:
        self.frontier = Frontier(batch.cursor)
        self.published: Counter[str] = Counter(batch.published)
        self.rejected = batch.rejected
        self.failing = set(failing)
        self.new_failures = 0
        self._failures: dict[int, BatchFailure] = {}
        self._mended: set[int] = set()

    @property
    def sent(self) -> int:
        return self.published.total()

    @property
    def outcome(self) -> str:
        """The state of a batch whose rows are all over."""
        return WITH_FAILURES if self.failing or self.rejected else FINISHED

    def confirmed(self, number: int, channel: str, *, again: bool) -> None:
        """``again``: the cursor passed it in an earlier run, as one that failed."""
        self._mend(number)
        if again:
            self.published[channel] += 1
        else:
            self._over(number, channel)

    def refused(self, number: int, *, again: bool = False) -> None:
        """It is not one to publish; ``again`` as in ``confirmed``."""
        self._mend(number)
        if again:
            self.rejected += 1
        else:
            self._over(number, _REJECTED)

    def _mend(self, number: int) -> None:
        if number in self.failing:
            self.failing.discard(number)
            self._failures.pop(number, None)
            self._mended.add(number)

    def failed(self, number: int, id: str, error: str, *, again: bool) -> None:
        self._failures[number] = BatchFailure(number=number, id=id, error=error)
        if number not in self.failing:
            self.failing.add(number)
            self.new_failures += 1
        if not again:
            self._over(number, _FAILED)

    def snapshot(self, *, repeats: int = 0) -> BatchProgress:
        return BatchProgress(
            cursor=self.frontier.cursor,
            published=dict(self.published),
            rejected=self.rejected,
            failures=tuple(self._failures.values()),
            mended=tuple(self._mended),
            repeats=repeats,
        )

    def saved(self) -> None:
        self.frontier.saved()
        self._failures.clear()
        self._mended.clear()

    def _over(self, number: int, outcome: str) -> None:
        for passed in self.frontier.over(number, outcome):
            if passed == _REJECTED:
                self.rejected += 1
            elif passed != _FAILED:
                self.published[passed] += 1
