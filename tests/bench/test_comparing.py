"""Unlike work is not compared."""

import pytest

from benching.comparing import check_alike, digest, each_once
from benching.rounds import Contestant, alternate
from benching.values import Facts, Figure, Run, Unlike

FACTS: Facts = {"count": 3, "ids": "a", "payload": "b", "counted at": "the gateway"}
OTHER: Facts = {**FACTS, "payload": "other"}


@pytest.mark.parametrize(
    ("counted", "problem"),
    [
        (["a", "b"], "1 of 3 missing, such as c"),
        (["a", "b", "c", "d"], "1 of 3 unexpected, such as d"),
        (["a", "b", "c", "b"], "1 of 3 not 1 times, such as b"),
        ([], "3 of 3 missing, such as a, b, c"),
    ],
)
def test_each_must_be_counted_once(counted: list[str], problem: str) -> None:
    with pytest.raises(Unlike, match=f"^here: {problem}$"):
        each_once(counted, "abc", "here")


def test_or_as_often_as_is_asked_for() -> None:
    each_once("abcabc", "abc", "here", times=2)
    with pytest.raises(Unlike, match="not 2 times"):
        each_once("abcab", "abc", "here", times=2)


def test_the_digest_depends_on_where_one_ends_and_the_next_begins() -> None:
    assert digest(["ab", "c"]) == digest([b"ab", b"c"])
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest(["ab", "c"]) != digest(["c", "ab"])


def test_alike_may_differ_in_what_only_one_has() -> None:
    check_alike({"ours": {**FACTS, "queue": "quorum"}, "bare": FACTS})


@pytest.mark.parametrize("fact", [*FACTS, "queue"])
def test_what_both_have_must_be_equal(fact: str) -> None:
    ours = {**FACTS, "queue": "quorum"}
    with pytest.raises(Unlike, match=f"^{fact} differs: .* of ours, 'other' of theirs$"):
        check_alike({"ours": ours, "theirs": {**ours, fact: "other"}})


@pytest.mark.parametrize("fact", FACTS)
def test_what_is_needed_must_be_known(fact: str) -> None:
    less = {name: value for name, value in FACTS.items() if name != fact}
    with pytest.raises(Unlike, match=f"^theirs: {fact} not known$"):
        check_alike({"ours": FACTS, "theirs": less})


def contestant(name: str, order: list[str], facts: Facts = FACTS) -> Contestant:
    def run(number: int) -> Run:
        order.append(name)
        return Run(figures=(Figure(name="rate", unit="a second", value=number),), facts=facts)

    return Contestant(name=name, run=run)


def test_contestants_take_turns_at_being_the_first() -> None:
    order: list[str] = []
    runs = alternate([contestant(name, order) for name in "abc"], 3)
    assert "".join(order) == "abcbcacab"
    assert {name: [run.figures[0].value for run in each] for name, each in runs.items()} == {
        name: [1, 2, 3] for name in "abc"
    }


def test_a_round_of_unlike_work_is_an_error() -> None:
    order: list[str] = []
    with pytest.raises(Unlike, match="payload differs"):
        alternate(
            [contestant("a", order), contestant("b", order, {**FACTS, "payload": "other"})], 2
        )
    assert order == ["a", "b"]
