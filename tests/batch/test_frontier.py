"""The cursor: never beyond a row that is not over, whatever the order of the confirms."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.batch.frontier import Frontier


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_the_cursor_is_the_last_row_below_which_all_are_over(
    gaps: list[int], chance: random.Random
) -> None:
    numbers = [sum(gaps[: n + 1]) for n in range(len(gaps))]
    frontier, passed, over = Frontier(), 0, set[int]()
    for number in numbers:
        frontier.take(number)
    for number in chance.sample(numbers, len(numbers)):
        passed += len(frontier.over(number, "sms"))
        over.add(number)
        below = [n for n in numbers if n <= frontier.cursor]
        assert set(below) <= over
        assert len(below) == passed
        following = [n for n in numbers if n > frontier.cursor]
        assert not following or following[0] not in over
        assert frontier.beyond == len(following)
        assert frontier.exposed == len(numbers)
    assert frontier.cursor == numbers[-1]
    frontier.saved()
    assert frontier.exposed == 0


def test_outcomes_come_when_the_cursor_passes_their_rows() -> None:
    frontier = Frontier(10)
    for number in (11, 14, 15):
        frontier.take(number)
    assert frontier.over(15, "email") == []
    assert frontier.over(11, "rejected") == ["rejected"]
    assert (frontier.cursor, frontier.exposed, frontier.beyond) == (11, 3, 2)
    assert frontier.over(14, "sms") == ["sms", "email"]
    assert frontier.cursor == 15


@pytest.mark.parametrize("number", [10, 9, 12])
def test_numbers_that_do_not_grow_are_a_mistake_of_the_source(number: int) -> None:
    frontier = Frontier(10)
    frontier.take(12)
    with pytest.raises(ValueError, match="must grow"):
        frontier.take(number)
