"""What RabbitMQ is told when messages end in another order than they came in."""

import random
from struct import unpack_from

import pytest

from notify.tasks import Verdict
from notify.worker.tags import Tags

DONE, REFUSED, HANDED_BACK = Verdict.DONE, Verdict.REFUSED, Verdict.HANDED_BACK
ACK, REJECT = 80, 90
CHANNEL = 3


def told(frames: bytes) -> list[tuple[int, int, bool]]:
    """Method, delivery tag, and bit of each frame (AMQP 0-9-1, 2.3.5)."""
    assert len(frames) % 21 == 0
    found = []
    for at in range(0, len(frames), 21):
        kind, channel, size, group, method, tag, bit, end = unpack_from(">BHIHHQBB", frames, at)
        assert (kind, channel, size, group, end) == (1, CHANNEL, 13, 60, 0xCE)
        found.append((method, tag, bool(bit)))
    return found


def opened(count: int) -> Tags:
    tags = Tags()
    for tag in range(1, count + 1):
        tags.opened(tag)
    return tags


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({}, []),
        ({1: DONE}, [(ACK, 1, False)]),
        ({1: DONE, 2: DONE, 3: DONE}, [(ACK, 3, True)]),
        ({3: DONE, 1: DONE, 2: DONE}, [(ACK, 3, True)]),
        ({2: DONE, 3: DONE}, [(ACK, 2, False), (ACK, 3, False)]),
        ({1: DONE, 2: DONE, 4: DONE}, [(ACK, 2, True), (ACK, 4, False)]),
        ({1: REFUSED}, [(REJECT, 1, False)]),
        ({1: HANDED_BACK}, [(REJECT, 1, True)]),
        ({1: DONE, 2: HANDED_BACK, 3: DONE}, [(REJECT, 2, True), (ACK, 3, True)]),
        ({2: REFUSED, 3: DONE}, [(REJECT, 2, False), (ACK, 3, False)]),
        ({1: DONE, 2: DONE, 3: DONE, 4: DONE, 5: DONE}, [(ACK, 5, True)]),
        ({9: DONE}, []),
    ],
    ids=[
        "nothing",
        "one",
        "all-before",
        "all-before-in-any-order",
        "the-first-is-open",
        "one-between-is-open",
        "refused",
        "handed-back",
        "rejects-go-first",
        "the-first-is-open-and-one-refused",
        "all",
        "never-delivered",
    ],
)
def test_one_acknowledgement_stands_for_several_only_where_none_before_is_open(
    verdicts: dict[int, Verdict], expected: list[tuple[int, int, bool]]
) -> None:
    assert told(opened(5).frames(CHANNEL, verdicts.items())) == expected


def test_nothing_is_settled_twice() -> None:
    tags = opened(3)
    assert told(tags.frames(CHANNEL, [(1, DONE), (1, DONE)])) == [(ACK, 1, False)]
    assert tags.frames(CHANNEL, [(1, HANDED_BACK)]) == b""
    tags.closed(2)
    assert tags.frames(CHANNEL, [(2, DONE)]) == b""
    assert len(tags) == 1


def test_what_others_have_settled_is_no_longer_open() -> None:
    tags = opened(4)
    tags.closed(1)
    assert told(tags.frames(CHANNEL, [(2, DONE), (3, DONE)])) == [(ACK, 3, True)]
    tags = opened(4)
    tags.closed(3, multiple=True)
    assert len(tags) == 1
    assert told(tags.frames(CHANNEL, [(4, DONE)])) == [(ACK, 4, False)]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_order_each_message_gets_its_own_verdict(seed: int) -> None:
    """Against a broker that does as it is told, and objects to an unknown tag."""
    chance = random.Random(seed)
    tags = Tags()
    unsettled: dict[int, Verdict] = {}
    wanted: dict[int, Verdict] = {}
    settled: dict[int, Verdict] = {}
    for tag in range(1, 201):
        tags.opened(tag)
        unsettled[tag] = wanted[tag] = chance.choice([DONE, DONE, DONE, REFUSED, HANDED_BACK])
        if chance.random() < 0.3 or tag == 200:
            ended = chance.sample(sorted(unsettled), chance.randint(0, min(8, len(unsettled))))
            if tag == 200:
                ended = chance.sample(sorted(unsettled), len(unsettled))
            frames = tags.frames(CHANNEL, [(each, unsettled.pop(each)) for each in ended])
            for method, last, bit in told(frames):
                reach = [last]
                if method == ACK and bit:
                    reach = [each for each in wanted if each <= last and each not in settled]
                assert last not in settled
                verdict = DONE if method == ACK else HANDED_BACK if bit else REFUSED
                settled |= dict.fromkeys(reach, verdict)
    assert settled == wanted
    assert len(tags) == 0
