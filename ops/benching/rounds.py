"""Contestants that take turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benching.comparing import check_alike
from benching.saying import say
from benching.values import Run


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """Who is measured. ``run`` is called once a round, with the round's number from 1."""

    name: str
    run: Callable[[int], Run]


def alternate(contestants: Sequence[Contestant], rounds: int) -> dict[str, tuple[Run, ...]]:
    """Each once a round; who is first changes. Raises ``Unlike`` where they do unlike work."""
    found: dict[str, list[Run]] = {each.name: [] for each in contestants}
    for number in range(1, rounds + 1):
        start = (number - 1) % len(contestants)
        for each in (*contestants[start:], *contestants[:start]):
            run = each.run(number)
            found[each.name].append(run)
            say(f"  {number}  {each.name:<34}{shown(run)}")
        check_alike({name: runs[-1].facts for name, runs in found.items()})
    return {name: tuple(runs) for name, runs in found.items()}


def shown(run: Run) -> str:
    return ", ".join(f"{each.value:,.4g} {each.unit}" for each in run.figures)
