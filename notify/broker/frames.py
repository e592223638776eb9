"""A publish as the bytes of AMQP 0-9-1 (method, header and body frames), and frames from bytes.

py-amqp writes the same bytes several times slower: it serializes each table again, though
most of what Celery wants in a message never changes. What is rare here is left to it.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from struct import Struct, pack
from typing import Any, Final

from amqp.exceptions import UnexpectedFrame
from amqp.serialization import dumps

from notify.message import Message

Frame = tuple[int, int, bytes]
"""Its type, the number of its channel, and the payload: what py-amqp takes."""

NoFrame: Final = UnexpectedFrame
"""What py-amqp raises, and we do, for bytes that are no frame."""

ACK: Final = pack(">HH", 60, 80)
NACK: Final = pack(">HH", 60, 120)
CHANNEL_CLOSE: Final = pack(">HH", 20, 40)
CONFIRM: Final = Struct(">4sQB")
"""An ack or nack: the method, the delivery tag, and whether it is for all up to it."""

_METHOD, _HEADER, _BODY, _HEARTBEAT = 1, 2, 3, 8
_KINDS: Final = frozenset((_METHOD, _HEADER, _BODY, _HEARTBEAT))
_END: Final = b"\xce"
# Type, channel, size of the payload; with the end each frame has 8 bytes more than that.
_FRAME: Final = Struct(">BHI")
_OVERHEAD: Final = 8
_BASIC_PUBLISH: Final = pack(">HHH", 60, 40, 0)
_MANDATORY: Final = b"\x01"
_CONTENT: Final = Struct(">HHQ")
_BASIC: Final = 60
_LONG: Final = Struct(">I")
_INT: Final = Struct(">ci")
_MOST_INT: Final = 2**31 - 1
_MOST_SHORT: Final = 255


class Frames:
    """Encodes for one channel, for any thread."""

    def __init__(self, channel: int, frame_max: int) -> None:
        self._channel = channel
        self._most = frame_max - _OVERHEAD
        # What the last message had in common with others, and its bytes.
        self._common: tuple[Mapping[str, Any], bytes] = {}, b""

    def encode(self, exchange: str, message: Message) -> bytes:
        """``mandatory`` is set: what no queue takes comes back.

        Raises ``ValueError`` for what no frame can hold.
        """
        channel, body = self._channel, message.body
        header = _CONTENT.pack(_BASIC, 0, len(body)) + self._properties(message)
        if len(header) > self._most:
            # The broker would close the connection, which others share.
            raise ValueError(f"headers of {len(header)} bytes: the broker takes {self._most}")
        parts = [
            _publish(channel, exchange, message.routing_key),
            _FRAME.pack(_HEADER, channel, len(header)),
            header,
            _END,
        ]
        for start in range(0, len(body), self._most):
            chunk = body[start : start + self._most]
            parts += (_FRAME.pack(_BODY, channel, len(chunk)), chunk, _END)
        return b"".join(parts)

    def _properties(self, message: Message) -> bytes:
        flags, parts = _HEADERS, [b""]
        for name, flag, encoded in _BEFORE_HEADERS:
            if (value := message.properties.get(name)) is not None:
                flags |= flag
                parts.append(encoded(value))
        parts.append(self._table(message))
        for name, flag, encoded in _AFTER_HEADERS:
            if (value := message.properties.get(name)) is not None:
                flags |= flag
                parts.append(encoded(value))
        parts[0] = flags.to_bytes(2, "big")
        return b"".join(parts)

    def _table(self, message: Message) -> bytes:
        common, encoded = self._common
        if message.common is not common:
            common = message.common
            encoded = _items(common.items())
            self._common = common, encoded
        own = _items([item for item in message.headers.items() if item[0] not in common])
        return _LONG.pack(len(encoded) + len(own)) + encoded + own


def split(data: bytes) -> tuple[list[Frame], bytes]:
    """The frames that ``data`` begins with, and the beginning of the next one.

    Raises ``NoFrame`` for bytes that are no frames.
    """
    frames, start = [], 0
    while (found := frame_at(data, start)) is not None:
        frame, start = found
        frames.append(frame)
    return frames, data[start:]


def frame_at(data: bytes, start: int) -> tuple[Frame, int] | None:
    """The frame that begins there, and where the next one does; None where it is not whole.

    Raises ``NoFrame`` for bytes that are no frame.
    """
    if len(data) - start < _OVERHEAD:
        return None
    kind, channel, size = _FRAME.unpack_from(data, start)
    if kind not in _KINDS:
        raise NoFrame(f"a frame of type {kind}")
    first = start + _FRAME.size
    end = first + size
    if end >= len(data):
        return None
    if data[end] != _END[0]:
        raise NoFrame("a frame without its end")
    return (kind, channel, data[first:end]), end + 1


@lru_cache(maxsize=256)
def _publish(channel: int, exchange: str, routing_key: str) -> bytes:
    payload = _BASIC_PUBLISH + _short(exchange) + _short(routing_key) + _MANDATORY
    return _FRAME.pack(_METHOD, channel, len(payload)) + payload + _END


def _short(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _MOST_SHORT:
        raise ValueError(f"a name or property of {len(data)} bytes: AMQP has at most {_MOST_SHORT}")
    return bytes((len(data),)) + data


@lru_cache(maxsize=256)
def _name(text: str) -> bytes:
    return _short(text)


def _items(items: Iterable[tuple[str, Any]]) -> bytes:
    """The inside of a table."""
    return b"".join([_item(name, value) for name, value in items])


def _item(name: str, value: Any) -> bytes:
    kind = type(value)
    if kind is str:
        data: bytes = value.encode("utf-8", "surrogatepass")
        return _name(name) + b"S" + _LONG.pack(len(data)) + data
    if kind is int and -_MOST_INT <= value <= _MOST_INT:
        return _name(name) + _INT.pack(b"I", value)
    table: bytes = dumps("F", [{name: value}])
    return table[_LONG.size :]


_octet: Final = Struct(">B").pack
_longlong: Final = Struct(">Q").pack
# In the order in which the protocol has them, each with its flag.
_HEADERS: Final = 0x2000
_Property = tuple[str, int, Callable[[Any], bytes]]
_BEFORE_HEADERS: Final[tuple[_Property, ...]] = (
    ("content_type", 0x8000, _name),
    ("content_encoding", 0x4000, _name),
)
_AFTER_HEADERS: Final[tuple[_Property, ...]] = (
    ("delivery_mode", 0x1000, _octet),
    ("priority", 0x0800, _octet),
    ("correlation_id", 0x0400, _short),
    ("reply_to", 0x0200, _short),
    ("expiration", 0x0100, _short),
    ("message_id", 0x0080, _short),
    ("timestamp", 0x0040, _longlong),
    ("type", 0x0020, _name),
    ("user_id", 0x0010, _short),
    ("app_id", 0x0008, _short),
    ("cluster_id", 0x0004, _short),
)
