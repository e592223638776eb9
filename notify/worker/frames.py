"""AMQP frames out of what was read from a socket in one piece."""

from struct import Struct
from typing import Final

Frame = tuple[int, int, bytes]
"""Type, channel, and payload."""

# AMQP 0-9-1 specification, 2.3.5: type, channel and size, the payload, and an end.
_HEAD: Final = Struct(">BHI")
_END: Final = 0xCE


class Frames:
    """What was read and not yet taken. Not thread-safe."""

    def __init__(self) -> None:
        self._data = b""
        self._at = 0

    @property
    def waiting(self) -> bool:
        """Whether there is anything, a part of a frame perhaps."""
        return self._at < len(self._data)

    def feed(self, data: bytes) -> None:
        rest = self._data[self._at :]
        self._data, self._at = rest + data if rest else data, 0

    def next(self) -> Frame | None:
        """The next whole frame, if there is one. Raises ``OSError`` where there is garbage."""
        data, at = self._data, self._at
        if len(data) - at <= _HEAD.size:
            return None
        kind, channel, size = _HEAD.unpack_from(data, at)
        begin = at + _HEAD.size
        end = begin + size
        if len(data) <= end:
            return None
        if data[end] != _END:
            raise OSError("RabbitMQ sent a frame without its end")
        self._at = end + 1
        return kind, channel, data[begin:end]
