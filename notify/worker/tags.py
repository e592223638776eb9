"""Which deliveries of one channel are not settled yet, and the frames that settle some."""

from bisect import bisect_left
from collections.abc import Iterable
from struct import Struct
from typing import Final

from notify.tasks import Verdict

# Type (method), channel, size; class (basic), method, delivery tag, a bit, end of the frame.
# AMQP 0-9-1 specification, 2.3.5, 1.8.3.13 and 1.8.3.14.
_FRAME: Final = Struct(">BHIHHQBB")
_SIZE: Final = 13
_BASIC: Final = 60
_ACK: Final = 80
_REJECT: Final = 90
_END: Final = 0xCE


class Tags:
    """The delivery tags of one channel, which count up. Not thread-safe.

    Each delivery that asks for an acknowledgement must be told of: one acknowledgement stands
    for several only where nothing that was delivered before is still open.
    """

    def __init__(self) -> None:
        # In the order of delivery.
        self._open: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, tag: int) -> None:
        self._open[tag] = None

    def closed(self, tag: int, *, multiple: bool = False) -> None:
        """It was settled by other means; ``multiple``: and so were all before it."""
        if multiple:
            self._open = {each: None for each in self._open if each > tag}
        else:
            self._open.pop(tag, None)

    def frames(self, channel: int, verdicts: Iterable[tuple[int, Verdict]]) -> bytes:
        """Settles these. What is not open, or no longer, is left alone."""
        frames, done = [], []
        for tag, verdict in verdicts:
            if tag not in self._open:
                continue
            del self._open[tag]
            if verdict is Verdict.DONE:
                done.append(tag)
            else:
                frames.append(_frame(channel, _REJECT, tag, verdict is Verdict.HANDED_BACK))
        # After the rejects: what the first of these covers besides has been settled by then.
        done.sort()
        covered = bisect_left(done, next(iter(self._open))) if self._open else len(done)
        if covered:
            frames.append(_frame(channel, _ACK, done[covered - 1], covered > 1))
        frames += [_frame(channel, _ACK, tag, False) for tag in done[covered:]]
        return b"".join(frames)


def _frame(channel: int, method: int, tag: int, bit: bool) -> bytes:
    return _FRAME.pack(1, channel, _SIZE, _BASIC, method, tag, bit, _END)
