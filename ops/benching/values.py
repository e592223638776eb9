"""What a benchmark finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

# A fact about work that was done. Work is alike where all facts that both have are equal.
Facts = Mapping[str, str | int | float | bool]
Points = list[tuple[float, float]]

ONCE_EACH: Final = "each once"


class Unlike(Exception):
    """Work was to be compared that is not the same, or was not done as it should."""


class Broken(Exception):
    """Something that a benchmark needs does not run."""


class Impossible(Exception):
    """This machine cannot show it, and the other scenarios can go on."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of one run, such as messages a second."""

    name: str
    unit: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one contestant: its figures, the first of which is the main one; and what it did.

    ``curves`` by name are for plots.
    """

    figures: tuple[Figure, ...]
    facts: Facts = field(default_factory=dict)
    curves: Mapping[str, Points] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What a ratio of two figures (``of`` : ``to``), a difference (``of`` - ``less``) or one
    figure by itself should be at least, or at most."""

    of: str
    to: str | None = None
    less: str | None = None
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The labels of a plot of curves."""

    title: str
    x: str
    y: str


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All rounds of a scenario: for each contestant its runs, in order."""

    runs: Mapping[str, tuple[Run, ...]]
    aims: tuple[Aim, ...] = ()
    axes: Axes | None = None
