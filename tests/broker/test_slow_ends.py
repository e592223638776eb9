"""Many publishes whose source, or whose caller, takes longer than the broker may."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from notify.broker import Outgoing, Publisher
from notify.broker.confirming import ConfirmChannel
from notify.broker.window import Result, Window
from tests.broker.proxy import Proxy
from tests.broker.rabbit import Rabbit, outgoing
from tests.deployment import sms
from tests.waiting import eventually

pytestmark = pytest.mark.broker

Publishing = Callable[..., Publisher]
PATIENCE = 1.0


def longer_than_patience() -> None:
    end = time.monotonic() + 1.5 * PATIENCE
    eventually(lambda: time.monotonic() > end, "more than the patience")


def errors(results: Iterable[Result]) -> list[object]:
    return [result.error for result in results]


@pytest.mark.parametrize("more", [0, 3])
def test_a_source_that_is_slow_costs_the_broker_no_time(
    rabbit: Rabbit, publisher: Publisher, more: int
) -> None:
    """What it had confirmed long ago is not unconfirmed, be it at the end or in between."""

    def items() -> Iterator[Outgoing]:
        for _ in range(3):
            yield outgoing(sms())
        eventually(lambda: rabbit.depth() == 3, "all of them in the queue")
        longer_than_patience()
        for _ in range(more):
            yield outgoing(sms())

    results = publisher.publish_many(items(), timeout=PATIENCE)
    assert errors(results) == [None] * (3 + more)


def test_a_caller_that_is_slow_costs_the_broker_no_time(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    assert errors(publisher.publish_many([outgoing(sms(id="before"))])) == [None]
    proxy.pause(requests=False)

    def items() -> Iterator[Outgoing]:
        yield outgoing(sms(id="first"))
        eventually(lambda: rabbit.depth() == 2, "the first in the queue")
        proxy.flow()
        proxy.pause(answers=False)
        yield outgoing(sms(id="second"))
        yield outgoing(sms(id="third"))

    found = []
    for result in publisher.publish_many(items(), window=2, timeout=PATIENCE):
        found.append((result.key, result.error))
        if result.key == "first":
            proxy.flow()
            eventually(lambda: rabbit.depth() == 3, "the second in the queue")
            longer_than_patience()
    assert found == [("first", None), ("second", None), ("third", None)]


def test_what_was_cut_while_the_source_was_away_is_published_again(
    rabbit: Rabbit, proxy: Proxy, publishing: Publishing
) -> None:
    publisher = publishing(proxy.url)
    assert errors(publisher.publish_many([outgoing(sms(id="before"))])) == [None]
    proxy.pause(requests=False)

    def items() -> Iterator[Outgoing]:
        yield outgoing(sms(id="first"))
        eventually(lambda: rabbit.depth() == 2, "the first in the queue")
        longer_than_patience()
        proxy.cut()
        proxy.flow()
        yield outgoing(sms(id="second"))

    assert errors(publisher.publish_many(items(), timeout=PATIENCE)) == [None, None]
    assert sorted(rabbit.ids(4)) == ["before", "first", "first", "second"]


class Loan:
    """A pool of one channel that tells when it was given back."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.released = threading.Event()
        self.channel: ConfirmChannel | None = None

    def acquire(self, deadline: float) -> ConfirmChannel:
        self.channel = self._publisher.acquire(deadline)
        return self.channel

    def release(self, channel: ConfirmChannel) -> None:
        self.released.set()
        self._publisher.release(channel)


def test_a_channel_is_not_given_back_while_its_laggards_are_sent(
    rabbit: Rabbit, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads that send what one channel has unsent would send it twice."""
    loan, sending, go_on = Loan(publisher), threading.Event(), threading.Event()
    window = Window(loan, 10, 10.0)
    run = window.run([outgoing(sms())])
    assert next(run).error is None
    assert loan.channel is not None

    def flush() -> None:
        sending.set()
        go_on.wait()

    monkeypatch.setattr(loan.channel, "flush", flush)
    laggards = threading.Thread(target=window._hurry)
    laggards.start()
    assert sending.wait(10)
    ending = threading.Thread(target=list, args=(run,))
    ending.start()
    given_back = loan.released.wait(0.5)
    go_on.set()
    laggards.join()
    ending.join()
    assert not given_back
    assert loan.released.is_set()
