"""A letter becomes a generation of its id once, whoever replays it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from notify.deadletter import DeadLetter
from notify.errors import NotFound
from notify.store import Filter, Store
from notify.store.batches import Batch
from notify.store.replayrows import SENT, ReplayLetter, ReplayRun
from notify.store.replays import Replays
from notify.store.taking import Lost, Taken, Wish
from tests.archive.letters import NOW, dead


@pytest.fixture
def replays(archive_url: str) -> Iterator[Replays]:
    with closing(Store(archive_url)) as store, closing(Replays(archive_url)) as opened:
        store.create()
        store.add([letter(n) for n in range(40)])
        yield opened


def letter(number: int) -> DeadLetter:
    return dead(f"n-{number}", dead_at=NOW)


def begin(replays: Replays, *names: str) -> None:
    for name in names:
        replays.begin(ReplayRun(name=name, actor="ann"), Batch(name=name), Filter())


def wish(number: int, generation: int = 2, *, again: bool = False) -> Wish:
    return Wish(number=number, id=f"n-{number - 1}", generation=generation, again=again)


def sent(replays: Replays, run: str, number: int, generation: int) -> None:
    over = ReplayLetter(run=run, number=number, dead_seq=number, generation=generation, result=SENT)
    replays.note([over])


def test_the_first_who_asks_has_it(replays: Replays) -> None:
    begin(replays, "a", "b")
    assert replays.take("a", [wish(1), wish(2)]) == {
        1: Taken(generation=2),
        2: Taken(generation=2),
    }
    assert replays.take("a", [wish(1)]) == {1: Taken(generation=2, before=True)}
    assert replays.take("b", [wish(1), wish(3)]) == {1: Lost(run="a"), 3: Taken(generation=2)}
    sent(replays, "a", 1, 2)
    assert replays.take("b", [wish(1)]) == {1: Lost(run="a")}
    # It has died again, and that letter is another one.
    assert replays.take("b", [wish(1, 3)]) == {1: Taken(generation=3)}


def test_what_is_given_back_can_be_taken(replays: Replays) -> None:
    begin(replays, "a", "b")
    replays.take("a", [wish(1)])
    replays.note([ReplayLetter(run="a", number=1, dead_seq=1, result="cancelled")])
    assert replays.take("b", [wish(1)]) == {1: Taken(generation=2)}


def test_what_was_sent_stays_so(replays: Replays) -> None:
    """Whatever a process notes that lost its run while it was stopped."""
    begin(replays, "a")
    replays.take("a", [wish(1)])
    sent(replays, "a", 1, 2)
    replays.note([ReplayLetter(run="a", number=1, dead_seq=1, result="purged")])
    (first, *_) = replays.letters("a")
    assert (first.result, first.generation) == (SENT, 2)


def test_again_only_when_the_other_run_is_over(replays: Replays) -> None:
    begin(replays, "a", "b")
    replays.take("a", [wish(1)])
    assert replays.take("b", [wish(1, again=True)]) == {1: Lost(run="a")}
    sent(replays, "a", 1, 2)
    assert replays.take("b", [wish(1, again=True)]) == {1: Taken(generation=3)}


def test_one_id_once_in_a_run(replays: Replays) -> None:
    begin(replays, "a")
    twin = Wish(number=2, id="n-0", generation=3)
    assert replays.take("a", [wish(1), twin]) == {1: Taken(generation=2), 2: Lost(run="a")}


def test_many_at_once(replays: Replays, archive_url: str) -> None:
    names = [f"run-{n}" for n in range(4)]
    begin(replays, *names)

    def take_all(name: str) -> int:
        mine = 0
        with closing(Replays(archive_url)) as own:
            for start in range(1, 41, 5):
                answers = own.take(name, [wish(n) for n in range(start, start + 5)])
                mine += sum(isinstance(each, Taken) for each in answers.values())
        return mine

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take_all, names)) == 40
    assert replays.take("run-0", []) == {}


def test_a_run_without_letters_is_not_begun(replays: Replays) -> None:
    run = ReplayRun(name="a", actor="ann")
    with pytest.raises(NotFound):
        replays.begin(run, Batch(name="a"), Filter(reason="poison"))
    assert replays.get("a") is None
    assert replays.begin(run, Batch(name="a"), (3, 7, 99)) == 2
    assert [each.dead_seq for each in replays.letters("a")] == [3, 7]
    assert replays.get("a") == run
