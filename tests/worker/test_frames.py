"""Frames come whole, however they were cut on their way."""

from struct import pack

import pytest

from notify.broker.frames import Frame
from notify.worker.frames import Frames

SENT: list[Frame] = [(1, 1, b"method"), (2, 1, b"head"), (3, 1, b"body" * 50), (8, 0, b"")]
WIRE = b"".join(pack(">BHI", k, c, len(p)) + p + b"\xce" for k, c, p in SENT)


def taken(frames: Frames) -> list[Frame]:
    found = []
    while (frame := frames.next()) is not None:
        found.append(frame)
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 50, len(WIRE)])
def test_they_are_the_same_in_pieces_of_any_size(size: int) -> None:
    frames, found = Frames(), []
    for at in range(0, len(WIRE), size):
        frames.feed(WIRE[at : at + size])
        found += taken(frames)
    assert found == SENT
    assert not frames.waiting


def test_a_part_of_a_frame_waits_for_the_rest() -> None:
    frames = Frames()
    frames.feed(WIRE[:-1])
    assert taken(frames) == SENT[:-1]
    assert frames.waiting
    frames.feed(WIRE[-1:])
    assert taken(frames) == SENT[-1:]


def test_garbage_is_a_lost_connection() -> None:
    frames = Frames()
    frames.feed(WIRE[:13] + b"\x00")
    with pytest.raises(OSError, match="without its end"):
        frames.next()
