"""AMQP frames out of what was read from a socket in one piece."""

from notify.broker.frames import Frame, NoFrame, frame_at


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
        try:
            found = frame_at(self._data, self._at)
        except NoFrame as error:
            raise OSError(f"RabbitMQ sent {error.reply_text}") from error
        if found is None:
            return None
        frame, self._at = found
        return frame
