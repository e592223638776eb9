"""Figures over the rounds: the median, the least and the most; ratios, round by round."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Self

from benching.values import Aim, Points, Run


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What became of some figure in all rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        return cls(median=median(values), least=min(values), most=max(values))


@dataclass(frozen=True, kw_only=True)
class Series:
    """One figure of one contestant, a value for each round."""

    contestant: str
    figure: str
    unit: str
    main: bool
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        return self.contestant if self.main else f"{self.contestant}: {self.figure}"


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """What an aim is about, in each round."""

    aim: Aim
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        if self.aim.to is not None:
            return f"{self.aim.of} : {self.aim.to}"
        return self.aim.of if self.aim.less is None else f"{self.aim.of} - {self.aim.less}"

    @property
    def reached(self) -> bool | None:
        """Whether the median is what it should be; ``None`` where nothing is asked for."""
        if self.aim.least is None and self.aim.most is None:
            return None
        middle = median(self.values)
        enough = self.aim.least is None or middle >= self.aim.least
        return enough and (self.aim.most is None or middle <= self.aim.most)


def all_series(runs: Mapping[str, Sequence[Run]]) -> list[Series]:
    """The figures of all contestants; the main ones first."""
    found = [
        Series(
            contestant=contestant,
            figure=figure.name,
            unit=figure.unit,
            main=place == 0,
            values=tuple(run.figures[place].value for run in rounds),
        )
        for contestant, rounds in runs.items()
        for place, figure in enumerate(rounds[0].figures)
    ]
    return sorted(found, key=lambda series: not series.main)


def ratios(series: Sequence[Series], aims: Sequence[Aim]) -> list[Ratio]:
    """Round by round. Raises ``KeyError`` for a figure that nobody has."""
    values = {each.name: each.values for each in series}
    return [Ratio(aim=aim, values=tuple(_measured(values, aim))) for aim in aims]


def _measured(values: Mapping[str, Sequence[float]], aim: Aim) -> Iterable[float]:
    if aim.to is not None:
        pairs = zip(values[aim.of], values[aim.to], strict=True)
        return (one / other if other else 0.0 for one, other in pairs)
    if aim.less is not None:
        return (one - other for one, other in zip(values[aim.of], values[aim.less], strict=True))
    return values[aim.of]


def instant(growth: Points, count: float) -> float:
    """When so many had come, on a straight line between two looks."""
    for (before, less), (after, more) in pairwise(growth):
        if more >= count > less:
            return before + (after - before) * (count - less) / (more - less)
    return growth[0][0]


def middle_rate(growth: Points, whole: float) -> float:
    """How many came a second between the first tenth of the whole and the last."""
    low, high = (instant(growth, whole * share) for share in (0.1, 0.9))
    return whole * 0.8 / max(high - low, 0.001)
