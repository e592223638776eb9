"""Who replays a letter: the first run that asks for it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from notify.store.replayrows import ReplayLetter


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """A letter to take, of ``generation``. ``again``: whatever earlier runs that are over made
    of it."""

    number: int
    id: str
    generation: int
    again: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """A letter is ours as ``generation``; ``before``: it was already when that was asked."""

    generation: int
    before: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """Another run has it, or, where that is the same, another letter of the run."""

    run: str


def answers_to(
    run: str, wishes: Sequence[Wish], made: dict[str, list[ReplayLetter]]
) -> dict[int, Taken | Lost]:
    answers: dict[int, Taken | Lost] = {}
    for wish in wishes:
        answer = answers[wish.number] = _answer(run, wish, made.get(wish.id, []))
        if isinstance(answer, Taken) and not answer.before:
            new = ReplayLetter(
                run=run, number=wish.number, dead_seq=0, id=wish.id, generation=answer.generation
            )
            made.setdefault(wish.id, []).append(new)
    return answers


def _answer(run: str, wish: Wish, made: Sequence[ReplayLetter]) -> Taken | Lost:
    own = next((each for each in made if (each.run, each.number) == (run, wish.number)), None)
    if own is not None:
        return Taken(generation=own.generation or wish.generation, before=True)
    if any(each.run == run for each in made):
        return Lost(run=run)
    later = [each for each in made if (each.generation or 0) >= wish.generation]
    in_the_way = [each for each in later if not (wish.again and each.result is not None)]
    if in_the_way:
        return Lost(run=in_the_way[-1].run)
    highest = max((each.generation or 0 for each in later), default=0)
    return Taken(generation=max(wish.generation, highest + 1))
