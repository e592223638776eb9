"""How far a batch has come: what is over, in the order of its rows. Pure."""

from collections import deque
from dataclasses import dataclass


@dataclass(kw_only=True, slots=True)
class _Place:
    number: int
    outcome: str = ""


class Frontier:
    """Rows are taken in order and are over in any order; up to ``cursor`` all are over."""

    def __init__(self, cursor: int = 0) -> None:
        self.cursor = cursor
        self._places: deque[_Place] = deque()
        self._open: dict[int, _Place] = {}
        self._unsaved = 0

    @property
    def beyond(self) -> int:
        """How many taken rows are beyond the cursor."""
        return len(self._places)

    @property
    def exposed(self) -> int:
        """How many would be taken again after a kill: those beyond the cursor that is saved."""
        return len(self._places) + self._unsaved

    def take(self, number: int) -> None:
        if number <= (self._places[-1].number if self._places else self.cursor):
            raise ValueError("the numbers of rows must grow")
        self._open[number] = place = _Place(number=number)
        self._places.append(place)

    def over(self, number: int, outcome: str) -> list[str]:
        """Notes what became of a row; the outcomes of the rows that the cursor passed now."""
        self._open.pop(number).outcome = outcome
        passed = []
        while self._places and self._places[0].outcome:
            place = self._places.popleft()
            self.cursor = place.number
            passed.append(place.outcome)
        self._unsaved += len(passed)
        return passed

    def saved(self) -> None:
        """The cursor is where a kill cannot reach it."""
        self._unsaved = 0
