"""Where the letters of a run come from: the archive, in the order that was fixed."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from notify.errors import Unavailable
from notify.replay.desk import Desk
from notify.replay.examining import Examiner, Verdict
from notify.replay.results import Results
from notify.replay.values import WORDS, Order, Why
from notify.rows import Row
from notify.store.replayrows import FAILED, SENT, ReplayLetter

_MOST: Final = 500
_AHEAD: Final = 2.0
_PATIENCE: Final = 60.0
_LONGEST_PAUSE: Final = 5.0
_Page = list[tuple[ReplayLetter, Verdict | None]]


class Letters:
    """The source of a batch: one row for each letter, with why it is left out where it is."""

    def __init__(
        self,
        desk: Desk,
        run: str,
        order: Order,
        results: Results,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._desk = desk
        self._run = run
        self._results = results
        self._clock = clock
        self._sleep = sleep
        self._examiner = Examiner(desk, order, run)
        self._worked = False
        # What is looked at long before its turn is looked at in vain.
        ahead = round(order.rate * _AHEAD) if order.rate else _MOST
        self._page = min(max(ahead, 10), _MOST)

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Raises ``Unavailable`` at once in the beginning, later when that lasts for a minute."""
        while page := self._patiently(after):
            for letter, verdict in page:
                yield self._row(letter, verdict)
            after = page[-1][0].number

    def _patiently(self, after: int) -> _Page:
        give_up, pause = self._clock() + _PATIENCE, 0.5
        while True:
            try:
                page = self.examined(self._desk.replays.letters(self._run, after, self._page))
                self._worked = True
                return page
            except Unavailable:
                if not self._worked or self._clock() > give_up:
                    raise
                self._sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def examined(self, letters: list[ReplayLetter]) -> _Page:
        """No verdict for those that are no longer in the archive, or were left out before."""
        rows = self._desk.replays.archived(each.dead_seq for each in letters)
        there = [each for each in letters if each.dead_seq in rows and not _left_out(each)]
        verdicts = self._examiner.examine(
            [rows[each.dead_seq] for each in there], [each.number for each in there]
        )
        found = {each.number: v for each, v in zip(there, verdicts, strict=True)}
        return [(each, found.get(each.number)) for each in letters]

    def _row(self, letter: ReplayLetter, verdict: Verdict | None) -> Row:
        number = letter.number
        if _left_out(letter):
            return Row(number=number, problem=letter.note)
        if verdict is None:
            return self._leave_out(letter, Why.PURGED, WORDS[Why.PURGED])
        if letter.result == SENT and verdict.facts.notification is not None:
            self._results.expect(number, None)
            return Row(number=number, notification=verdict.notification)
        if verdict.why is not None:
            kept = letter.generation if verdict.lost else None
            return self._leave_out(letter, verdict.why, verdict.note, verdict.other, kept)
        self._results.expect(number, verdict)
        return Row(number=number, notification=verdict.notification)

    def _leave_out(
        self,
        letter: ReplayLetter,
        why: Why,
        note: str,
        other: str | None = None,
        kept: int | None = None,
    ) -> Row:
        number, seq = letter.number, letter.dead_seq
        self._results.add(number, seq, why, note, generation=kept, other=other)
        return Row(number=letter.number, problem=note)


def _left_out(letter: ReplayLetter) -> bool:
    return letter.result not in (None, SENT, FAILED)
