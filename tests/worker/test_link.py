"""Celery's connection on a real RabbitMQ: reads much at once, settles many at once."""

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from amqp.transport import SSLTransport
from kombu.asynchronous import Hub
from kombu.entity import Queue

from notify.broker import Publisher
from notify.broker.frames import Frame
from notify.message import Envelope, encode
from notify.tasks import Verdict
from notify.worker import link
from notify.worker.link import Channel, Connection, Link
from tests.broker.rabbit import QUEUE, Rabbit
from tests.channels.peers import make_certificate, server_side
from tests.conftest import Vhost
from tests.deployment import sms
from tests.waiting import eventually

DONE, HANDED_BACK = Verdict.DONE, Verdict.HANDED_BACK
MOST = 12


class Reader:
    """A consumer in an event loop, as Celery's."""

    def __init__(self, url: str) -> None:
        self.got: list[Any] = []
        self.hub = Hub()
        self.link = Link(url, heartbeat=600, transport_options={"read_timeout": 10})
        self.link.transport.register_with_event_loop(self.link.connection, self.hub)
        self.channel: Any = self.link.default_channel
        self.channel.basic_qos(0, MOST, False)
        queue = Queue(QUEUE, no_declare=True)
        self.consumer = self.link.Consumer([queue], on_message=self.got.append, auto_declare=False)

    def turn_until(self, count: int) -> None:
        def arrived() -> bool:
            self.hub.call_soon(lambda: None)
            self.hub.run_once()
            return len(self.got) >= count

        eventually(arrived, f"{count} messages")

    def close(self) -> None:
        self.link.release()
        self.hub.close()


@pytest.fixture
def rabbit(vhost: Vhost) -> Rabbit:
    rabbit = Rabbit(vhost.url)
    rabbit.declare()
    return rabbit


@pytest.fixture
def reader(rabbit: Rabbit) -> Iterator[Reader]:
    reader = Reader(rabbit.url)
    yield reader
    reader.close()


def publish(rabbit: Rabbit, *bodies: str) -> None:
    publisher = Publisher([rabbit.url])
    for body in bodies:
        envelope = Envelope(notification=sms(body))
        publisher.publish("notify", encode(envelope, now=datetime.now(UTC)))
    publisher.close()


@pytest.mark.broker
def test_messages_arrive_whole_and_in_order_whatever_their_size(
    rabbit: Rabbit, reader: Reader
) -> None:
    bodies = ["small", "x" * 300_000, "y" * 65_536, "z"] * 3
    publish(rabbit, *bodies)
    reader.consumer.consume()
    reader.turn_until(MOST)
    found = [message.payload[1]["notification"]["body"] for message in reader.got]
    assert found == bodies
    assert [message.delivery_tag for message in reader.got] == list(range(1, MOST + 1))


@pytest.mark.broker
def test_what_was_read_along_with_an_answer_is_taken_without_another_event(
    rabbit: Rabbit, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window is full: nothing more comes that would wake the loop."""
    publish(rabbit, *["Hello"] * MOST)
    receive = link._receive
    pieces: list[bytes] = []

    def receive_all(transport: Any, timeout: float | None) -> Any:
        """Not before the answer and all messages are there."""
        peek = partial(transport.sock.recv, 65_536, socket.MSG_PEEK)
        eventually(lambda: peek().count(b'"notification"') == MOST, "all of it")
        eventually(lambda: peek().endswith(b"\xce"), "the end of it")
        pieces.append(receive(transport, timeout))
        return pieces[-1]

    with monkeypatch.context() as patch:
        patch.setattr(link, "_receive", receive_all)
        reader.consumer.consume()
    assert (len(pieces), reader.got) == (1, [])
    reader.turn_until(MOST)
    assert len(reader.channel.tags) == MOST


@pytest.mark.broker
def test_many_are_settled_by_one_write_and_each_as_it_should_be(
    rabbit: Rabbit, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(rabbit, *["Hello"] * MOST)
    reader.consumer.consume()
    reader.turn_until(MOST)
    transport = reader.link.connection.transport
    writes: list[bytes] = []
    original = transport.write

    def write(data: bytes) -> None:
        writes.append(bytes(data))
        original(data)

    monkeypatch.setattr(transport, "write", write)
    reader.got[0].ack()
    writes.clear()
    sent = reader.link.connection.bytes_sent
    verdicts = {tag: DONE for tag in range(2, MOST - 1) if tag != 6} | {4: HANDED_BACK}
    assert reader.channel.settle(verdicts.items())
    # One reject, one acknowledgement up to the one that is open, and one for each after it.
    assert [len(data) for data in writes] == [21 * (2 + MOST - 2 - 6)]
    assert reader.link.connection.bytes_sent > sent
    reader.got.clear()
    reader.turn_until(1)
    assert reader.got[0].delivery_info["redelivered"]
    reader.close()
    eventually(lambda: rabbit.depth() == 4, "what was not acknowledged is back")


@pytest.mark.broker
def test_a_consumer_that_acknowledges_nothing_leaves_nothing_open(
    rabbit: Rabbit, reader: Reader
) -> None:
    publish(rabbit, "Hello", "Hello")
    reader.consumer.consume(no_ack=True)
    reader.turn_until(2)
    assert len(reader.channel.tags) == 0


@pytest.mark.broker
def test_a_lost_connection_settles_nothing_and_raises_nothing(
    rabbit: Rabbit, reader: Reader
) -> None:
    publish(rabbit, "Hello", "Hello")
    reader.consumer.consume()
    reader.turn_until(2)
    connection = reader.link.connection
    connection.sock.shutdown(socket.SHUT_RDWR)
    assert not reader.channel.settle([(1, DONE)])
    assert not connection.connected
    assert not reader.channel.settle([(2, DONE)])
    # The loop learns of it, and connects again.
    with pytest.raises(reader.link.connection_errors):
        reader.turn_until(3)
    connection.collect()
    assert not reader.channel.settle([(2, DONE)])
    eventually(lambda: rabbit.depth() == 2, "both are back")


@pytest.mark.broker
def test_a_channel_that_rabbitmq_has_closed_settles_nothing_from_before(
    rabbit: Rabbit, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """py-amqp opens it again at once, and its tags count from one again."""
    publish(rabbit, "Hello", "Hello")
    reader.consumer.consume()
    reader.turn_until(2)
    channel = reader.channel
    super(Channel, channel).basic_ack(99)
    with pytest.raises(reader.link.channel_errors):
        reader.turn_until(3)
    assert channel.is_open
    assert len(channel.tags) == 0
    sent = reader.link.connection.bytes_sent
    assert channel.settle([(1, DONE), (2, DONE)])
    assert reader.link.connection.bytes_sent == sent
    eventually(lambda: rabbit.depth() == 2, "both are back")


@pytest.mark.broker
def test_what_was_written_in_part_is_the_last_that_was_written(
    rabbit: Rabbit, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RabbitMQ does not read, and the write took too long: py-amqp would go on."""
    publish(rabbit, "Hello")
    reader.consumer.consume()
    reader.turn_until(1)
    connection = reader.link.connection

    def write(_: bytes) -> None:
        raise BlockingIOError("timed out")

    with monkeypatch.context() as patch:
        patch.setattr(connection.transport, "write", write)
        assert not reader.channel.settle([(1, DONE)])
    assert not connection.connected
    with pytest.raises(reader.link.connection_errors):
        reader.turn_until(2)


@pytest.mark.broker
def test_another_url_is_read_in_the_same_way(rabbit: Rabbit) -> None:
    """Where the first does not answer, kombu takes everything from the next URL."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    found = Link(f"amqp://guest:guest@127.0.0.1:{port}//;{rabbit.url}")
    found.ensure_connection(max_retries=3, interval_start=0)
    assert isinstance(found.connection, Connection)
    assert isinstance(found.clone().transport.Connection(), Connection)
    found.release()


def test_what_tls_has_decrypted_is_taken_though_the_socket_is_silent(tmp_path: Path) -> None:
    frames: list[Frame] = [(3, 1, b"x" * 40_000)] * 5 + [(8, 0, b"")]
    wire = b"".join(pack(">BHI", k, c, len(p)) + p + b"\xce" for k, c, p in frames)
    certificate, key = make_certificate(tmp_path)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with server_side(certificate, key).wrap_socket(theirs, server_side=True) as server:
            server.sendall(wire)
            server.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname = False
    connection: Any = Connection()
    found: list[Frame] = []
    with context.wrap_socket(ours) as sock:
        transport = SSLTransport("localhost:1")
        transport.sock, transport.connected = sock, True
        connection.transport, connection.on_inbound_frame = transport, found.append
        connection.read_available()
        while len(found) < len(frames):
            assert sock.pending() == 0
            assert select.select([sock], [], [], 10)[0]
            connection.read_available()
        # Nothing is there: that is no loss.
        connection.read_available()
        sock.send(b"!")
    thread.join()
    assert found == frames
