"""One publish: confirmed, refused, or undecided within its time."""

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from notify.broker import Publisher
from notify.errors import BrokerUnavailable, QueueFull, Unconfirmed, Unroutable
from tests.broker.proxy import Proxy
from tests.broker.rabbit import QUEUE, Rabbit, message
from tests.deployment import sms

pytestmark = pytest.mark.broker
Publishing = Callable[..., Publisher]


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"amqp://guest:guest@127.0.0.1:{listener.getsockname()[1]}/"


@pytest.fixture
def refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return f"amqp://guest:guest@127.0.0.1:{port}/"


def test_a_confirmed_message_is_in_the_queue_as_it_was_published(
    rabbit: Rabbit, publisher: Publisher
) -> None:
    sent = message(sms("您好 👋"), attempt=3, generation=2, trace="00-abc-def-01")
    publisher.publish("notify", sent)
    (found,) = rabbit.take(1)
    assert found.headers == sent.headers
    assert found.body.encode() == sent.body
    assert {name: found.properties[name] for name in sent.properties} == sent.properties
    assert found.properties["delivery_mode"] == 2


def test_what_no_queue_is_bound_for_is_refused(rabbit: Rabbit, publisher: Publisher) -> None:
    lost = message(sms(priority="urgent"))
    with pytest.raises(Unroutable, match=r"no queue is bound to 'notify' for 'sms\.urgent'"):
        publisher.publish("notify", lost)
    publisher.publish("notify", message())
    assert rabbit.depth() == 1


def test_a_missing_exchange_is_named(rabbit: Rabbit, publisher: Publisher) -> None:
    with pytest.raises(Unroutable, match=r"'absent'.*declare the topology"):
        publisher.publish("absent", message())
    publisher.publish("notify", message())
    assert rabbit.depth() == 1


def test_a_full_queue_refuses_and_costs_no_connection(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher, small = publishing(proxy.url), rabbit.small_queue()
    refused = 0
    for _ in range(40):
        try:
            publisher.publish(small, message())
        except QueueFull:
            refused += 1
    # The limit is soft by a message or two.
    assert 36 <= refused <= 38
    assert rabbit.depth(small) == 40 - refused
    assert proxy.accepted == 1


def test_a_refused_port_is_reported_in_time(refused: str, publishing: Publishing) -> None:
    started = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="cannot connect") as raised:
        publishing(refused).publish("notify", message(), timeout=1)
    assert time.monotonic() - started < 2
    assert "guest" not in str(raised.value)


def test_a_broker_that_does_not_answer_is_reported_in_time(
    silent: str, publishing: Publishing
) -> None:
    started = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="cannot connect"):
        publishing(silent, connect_timeout=10).publish("notify", message(), timeout=1)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("first", ["refused", "silent"])
def test_the_next_broker_is_used_where_one_does_not_answer(
    first: str, rabbit: Rabbit, publishing: Publishing, request: pytest.FixtureRequest
) -> None:
    publisher = publishing(request.getfixturevalue(first), rabbit.url, connect_timeout=0.5)
    started = time.monotonic()
    publisher.publish("notify", message(), timeout=5)
    assert time.monotonic() - started < 3
    assert rabbit.depth() == 1


def test_a_wrong_password_is_reported_without_it(rabbit: Rabbit, publishing: Publishing) -> None:
    password = rabbit.url.split(":")[2].split("@")[0]
    with pytest.raises(BrokerUnavailable) as raised:
        publishing(rabbit.url.replace(password, "wr0ng")).publish("notify", message(), timeout=10)
    assert "wr0ng" not in str(raised.value)
    assert "refused" in str(raised.value).lower()


def test_a_silent_connection_ends_in_unconfirmed(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    publisher.publish("notify", message())
    proxy.pause()
    started = time.monotonic()
    with pytest.raises(Unconfirmed):
        publisher.publish("notify", message(), timeout=1)
    assert 0.9 < time.monotonic() - started < 2
    proxy.flow()
    publisher.publish("notify", message())
    assert 2 <= rabbit.depth() <= 3


def test_a_message_larger_than_all_buffers_is_bounded_too(
    proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url, confirm_timeout=8)
    publisher.publish("notify", message())
    proxy.pause()
    started = time.monotonic()
    with pytest.raises(Unconfirmed):
        publisher.publish("notify", message(sms("x" * 16_000_000)), timeout=1)
    assert time.monotonic() - started < 3


def test_a_broker_that_falls_silent_while_connecting_is_bounded_too(
    proxy: Proxy, publishing: Publishing
) -> None:
    """It has answered so far, and says no more when a channel is to be opened."""
    publisher = publishing(proxy.url, confirm_timeout=8)
    proxy.pause_after(b"\x00\x0a\x00\x29")  # connection.open-ok
    started = time.monotonic()
    with pytest.raises(BrokerUnavailable):
        publisher.publish("notify", message(), timeout=1)
    assert time.monotonic() - started < 3


def test_a_late_confirm_is_not_taken_for_the_next_message(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher, small = publishing(proxy.url), rabbit.small_queue(length=1)
    with pytest.raises(QueueFull):
        for _ in range(5):
            publisher.publish(small, message())
    proxy.pause(requests=False)
    with pytest.raises(Unconfirmed):
        publisher.publish("notify", message(), timeout=0.5)
    assert rabbit.depth(QUEUE) == 1
    proxy.flow()
    with pytest.raises(QueueFull):
        publisher.publish(small, message())


def test_a_cut_connection_is_replaced(rabbit: Rabbit, proxy: Proxy, publishing: Publishing) -> None:
    publisher = publishing(proxy.url)
    for count in (1, 2, 3):
        publisher.publish("notify", message())
        assert proxy.accepted == count
        proxy.cut()
    assert rabbit.depth() == 3
