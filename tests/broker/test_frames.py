"""Our bytes on the wire are those that py-amqp would write, and it reads them back the same."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import amqp
import pytest
from amqp.exceptions import UnexpectedFrame
from amqp.method_framing import frame_handler, frame_writer
from amqp.serialization import dumps
from amqp.spec import Basic
from hypothesis import given
from hypothesis import strategies as st

from notify.broker.frames import Frames, split
from notify.message import Envelope, Message, encode
from notify.topology import EXCHANGE
from tests.unit.values import INSTANTS, notifications

NOW = datetime(2027, 3, 1, 9, 0, 5, tzinfo=UTC)
FRAME_MAX = 4096

_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | _TEXT
    | st.binary(max_size=20)
    | st.just(Decimal("2.75"))
    | st.just(datetime(2027, 3, 1, 9, 0)),  # noqa: DTZ001
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "content_type": _TEXT,
        "content_encoding": _TEXT,
        "delivery_mode": st.sampled_from([1, 2]),
        "priority": st.integers(0, 255),
        "correlation_id": _TEXT,
        "reply_to": _TEXT,
        "expiration": _TEXT,
        "message_id": _TEXT,
        "timestamp": st.integers(0, 2**64 - 1),
        "type": _TEXT,
        "user_id": _TEXT,
        "app_id": _TEXT,
        "cluster_id": _TEXT,
    },
)
_MESSAGES = st.builds(
    Message,
    body=st.binary(max_size=3 * FRAME_MAX),
    headers=st.dictionaries(_TEXT, _VALUES, max_size=5),
    properties=_PROPERTIES,
    routing_key=_TEXT,
)


class Peer:
    """What py-amqp needs of a connection to write frames, or to read them."""

    frame_max = FRAME_MAX
    bytes_recv = bytes_sent = 0

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += bytes(data)


def by_amqp(channel: int, exchange: str, message: Message) -> bytes:
    """What py-amqp's ``basic_publish`` writes."""
    peer = Peer()
    content = amqp.Message(message.body, application_headers=message.headers, **message.properties)
    arguments = dumps("Bssbb", (0, exchange, message.routing_key, True, False))
    frame_writer(peer, peer)(1, channel, Basic.Publish, arguments, content)
    return peer.written


def read_by_amqp(data: bytes) -> list[Any]:
    """The contents that py-amqp finds; a publish looks to it like a delivery."""
    found: list[Any] = []
    read = frame_handler(
        Peer(),
        lambda _channel, _method, _payload, content: found.append(content),
        content_methods=frozenset([Basic.Publish]),
    )
    frames, rest = split(data)
    assert rest == b""
    for frame in frames:
        read(frame)
    return found


@given(st.integers(1, 65535), _TEXT, _MESSAGES)
def test_any_message_has_the_same_bytes(channel: int, exchange: str, message: Message) -> None:
    assert Frames(channel, FRAME_MAX).encode(exchange, message) == by_amqp(
        channel, exchange, message
    )


@given(
    st.lists(
        st.builds(
            Envelope,
            notification=notifications(),
            attempt=st.integers(1, 2**31 - 1),
            first_queued=INSTANTS,
            trace=st.none() | st.just("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            alone=st.booleans(),
            provider=st.sampled_from(["", "texts"]),
            heartbeat=st.booleans(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_notifications_one_after_another(envelopes: list[Envelope]) -> None:
    """Those, which share headers, between others that share none."""
    frames = Frames(1, FRAME_MAX)
    for envelope in envelopes:
        notification = encode(envelope, now=NOW)
        probe = Message(body=b"probe", headers={"a": 1}, properties={}, routing_key="q")
        assert notification.headers.items() >= notification.common.items()
        for message in (notification, probe):
            data = frames.encode(EXCHANGE, message)
            (read,) = read_by_amqp(data)
            assert data == by_amqp(1, EXCHANGE, message)
            assert bytes(read.body) == message.body
            assert read.properties.pop("application_headers") == message.headers
            assert read.properties == message.properties


@pytest.mark.parametrize("size", [0, 1, FRAME_MAX - 8, FRAME_MAX - 7, 10 * FRAME_MAX])
def test_no_frame_is_larger_than_the_broker_takes(size: int) -> None:
    message = Message(body=b"x" * size, headers={}, properties={}, routing_key="q")
    data = Frames(1, FRAME_MAX).encode("", message)
    sizes = [len(payload) + 8 for _, _, payload in split(data)[0]]
    assert max(sizes) <= FRAME_MAX
    assert sum(sizes) == len(data)


@pytest.mark.parametrize("name", ["message_id", "correlation_id", "type", "reply_to"])
def test_a_property_is_as_long_as_amqp_allows_and_no_longer(name: str) -> None:
    def encoded(text: str) -> bytes:
        message = Message(body=b"", headers={}, properties={name: text}, routing_key="q")
        return Frames(1, FRAME_MAX).encode("", message)

    (read,) = read_by_amqp(encoded("ä" * 127 + "a"))
    assert read.properties[name] == "ä" * 127 + "a"
    with pytest.raises(ValueError, match="256 bytes"):
        encoded("ä" * 128)


@pytest.mark.parametrize("place", ["routing_key", "header", "exchange"])
def test_a_name_is_no_longer_than_amqp_allows(place: str) -> None:
    long = "n" * 256
    message = Message(
        body=b"",
        headers={long: 1} if place == "header" else {},
        properties={},
        routing_key=long if place == "routing_key" else "q",
    )
    with pytest.raises(ValueError, match="256 bytes"):
        Frames(1, FRAME_MAX).encode(long if place == "exchange" else "", message)


def test_headers_that_fill_a_frame_and_no_more() -> None:
    def encoded(size: int) -> bytes:
        message = Message(body=b"", headers={"h": "x" * size}, properties={}, routing_key="q")
        return Frames(1, FRAME_MAX).encode("", message)

    around = len(split(encoded(0))[0][1][2])
    _, (_, _, header) = split(encoded(FRAME_MAX - 8 - around))[0]
    assert len(header) + 8 == FRAME_MAX
    with pytest.raises(ValueError, match="headers of 4089 bytes"):
        encoded(FRAME_MAX - 7 - around)


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 8]), st.integers(0, 9), st.binary(max_size=30))),
    st.data(),
)
def test_frames_are_found_however_the_bytes_come(
    wanted: list[tuple[int, int, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(
        bytes([kind]) + channel.to_bytes(2, "big") + len(payload).to_bytes(4, "big")
        + payload + b"\xce"
        for kind, channel, payload in wanted
    )  # fmt: skip
    found, rest = [], b""
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        frames, rest = split(rest + stream[:size])
        found += frames
        stream = stream[size:]
    assert (found, rest) == (wanted, b"")


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(UnexpectedFrame):
        split(b"HTTP/1.1 400 Bad Request\r\n")
    with pytest.raises(UnexpectedFrame):
        split(b"\x01\x00\x01\x00\x00\x00\x01x!")
