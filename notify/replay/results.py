"""What a run knows of its letters beyond what the archive has."""

from notify.replay.examining import Verdict
from notify.store.replayrows import ReplayLetter
from notify.store.replays import Replays


class Results:
    """Letters whose turn is near, and what came of the last ones."""

    def __init__(self, replays: Replays, run: str) -> None:
        self._replays = replays
        self._run = run
        self._verdicts: dict[int, Verdict | None] = {}
        self._new: list[ReplayLetter] = []

    def expect(self, number: int, verdict: Verdict | None) -> None:
        """It is about to go; without a verdict, an earlier run of this replay has sent it."""
        self._verdicts[number] = verdict

    def sent_before(self, number: int) -> bool:
        return self._verdicts[number] is None

    def verdict(self, number: int) -> Verdict:
        verdict = self._verdicts[number]
        assert verdict is not None
        return verdict

    def over(
        self,
        number: int,
        result: str,
        note: str = "",
        *,
        generation: int | None = None,
        other: str | None = None,
    ) -> None:
        """What came of one that was expected."""
        seq = self.verdict(number).row.seq
        del self._verdicts[number]
        self.add(number, seq, result, note, generation=generation, other=other)

    def add(
        self,
        number: int,
        seq: int,
        result: str,
        note: str = "",
        *,
        generation: int | None = None,
        other: str | None = None,
    ) -> None:
        """Without a ``generation``, another run may take it."""
        self._new.append(
            ReplayLetter(
                run=self._run,
                number=number,
                dead_seq=seq,
                generation=generation,
                result=str(result),
                other=other,
                note=note,
            )
        )

    def save(self) -> None:
        """Raises ``StoreUnavailable``; then it is to be done again."""
        self._replays.note(self._new)
        self._new = []
