"""One channel with many publishes under way: each gets its own answer."""

import time
from collections.abc import Iterator

import pytest

from notify.broker.confirming import ConfirmChannel
from notify.errors import NotifyError, QueueFull, Unroutable
from tests.broker.proxy import Proxy
from tests.broker.rabbit import Rabbit, message
from tests.deployment import sms

pytestmark = pytest.mark.broker


@pytest.fixture
def channel(proxy: Proxy) -> Iterator[ConfirmChannel]:
    channel = ConfirmChannel(proxy.url, connect_timeout=5, read_timeout=5)
    yield channel
    channel.close()


def until_answered(channel: ConfirmChannel) -> dict[str, NotifyError | None]:
    deadline = time.monotonic() + 10
    while channel.outstanding:
        assert channel.wait(deadline)
    return channel.results


def test_each_of_many_outstanding_publishes_gets_its_own_answer(
    channel: ConfirmChannel, rabbit: Rabbit
) -> None:
    small = rabbit.small_queue(length=1)
    for _ in range(5):
        channel.publish(small, message())
    until_answered(channel)
    channel.results.clear()
    wanted: dict[str, type | None] = {}
    for _ in range(50):
        wanted[channel.publish("notify", message())] = None
        wanted[channel.publish(small, message())] = QueueFull
        wanted[channel.publish("notify", message(sms(priority="urgent")))] = Unroutable
    answers = until_answered(channel)
    assert {token: error and type(error) for token, error in answers.items()} == wanted
    assert rabbit.depth() == 50


def test_confirms_that_come_all_at_once_are_told_apart(
    channel: ConfirmChannel, proxy: Proxy, rabbit: Rabbit
) -> None:
    proxy.pause(requests=False)
    tokens = [channel.publish("notify", message()) for _ in range(300)]
    assert not channel.wait(time.monotonic() + 0.3)
    proxy.flow()
    assert until_answered(channel) == dict.fromkeys(tokens)
    assert rabbit.depth() == 300
