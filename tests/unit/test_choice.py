"""Which provider comes first, and which not at all."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify.routing.choice import Availability, Standing, in_order, why_none

USABLE = Availability.USABLE


def standing(name: str, weight: float | None = None, kind: Availability = USABLE) -> Standing:
    return Standing(name=name, weight=weight, availability=kind)


def names(*standings: Standing, pinned: str = "", tried: str = "", draw: float = 0.0) -> list[str]:
    chosen = in_order(standings, pinned=pinned, tried=tried.split(), draw=draw)
    return [each.name for each in chosen]


A, B, C = standing("a"), standing("b"), standing("c")


def test_without_weights_the_order_of_the_configuration_decides() -> None:
    assert names(A, B, C) == ["a", "b", "c"]
    assert names(A, B, C, tried="a") == ["b", "c"]
    assert names(A, B, C, tried="a b c") == []


@pytest.mark.parametrize(
    ("kind", "used", "used_when_pinned"),
    [
        (Availability.USABLE, True, True),
        (Availability.ON_TRIAL, True, True),
        (Availability.DRAINING, False, True),
        (Availability.BREAKER_OPEN, False, False),
        (Availability.DISABLED, False, False),
        (Availability.EXHAUSTED, False, False),
    ],
)
def test_what_each_state_means(kind: Availability, used: bool, used_when_pinned: bool) -> None:
    first = standing("a", kind=kind)
    assert names(first, B) == (["a", "b"] if used else ["b"])
    assert names(first, B, pinned="a") == (["a"] if used_when_pinned else ["b"])


def test_what_a_provider_may_have_had_is_offered_to_no_other_while_it_can_be_asked() -> None:
    assert names(A, B, C, pinned="b") == ["b"]
    assert names(A, B, C, pinned="gone from the configuration") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("draw", "expected"), [(0.0, "abc"), (0.24, "abc"), (0.25, "bac"), (0.99, "bac")]
)
def test_weights_are_shares_and_who_has_none_stands_by(draw: float, expected: str) -> None:
    ours = (standing("a", 1), standing("b", 3), standing("c"))
    assert "".join(names(*ours, draw=draw)) == expected


def test_a_weight_of_zero_stands_by_too() -> None:
    assert names(standing("a", 0), standing("b", 1), draw=0.0) == ["b", "a"]
    down = standing("b", 1, Availability.BREAKER_OPEN)
    assert names(standing("a", 0), down) == ["a"]


@given(
    weights=st.lists(st.one_of(st.none(), st.floats(0, 1000)), min_size=1, max_size=6),
    draw=st.floats(0, 1, exclude_max=True),
    data=st.data(),
)
def test_each_usable_one_comes_once(
    weights: list[float | None], draw: float, data: st.DataObject
) -> None:
    kinds = data.draw(st.lists(st.sampled_from(Availability), min_size=6, max_size=6))
    standings = [standing(str(n), w, kinds[n]) for n, w in enumerate(weights)]
    usable = [s.name for s in standings if s.availability in (USABLE, Availability.ON_TRIAL)]
    assert Counter(names(*standings, draw=draw)) == Counter(usable)


def test_why_none_says_it_of_each() -> None:
    down = [standing("a", kind=Availability.DISABLED), standing("b", kind=Availability.EXHAUSTED)]
    assert why_none(down) == "a: disabled, b: daily cap reached"
