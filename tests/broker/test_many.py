"""Many publishes with a window: one result for each, whatever becomes of the others."""

import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from notify.broker import Outgoing, Publisher
from notify.errors import QueueFull, Unroutable
from notify.message import Message
from tests.broker.proxy import Proxy
from tests.broker.rabbit import Rabbit, outgoing
from tests.deployment import sms
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def test_five_thousand_are_confirmed_once_each_and_are_all_there(
    rabbit: Rabbit, proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    notifications = [sms() for _ in range(5000)]
    publisher = publishing(proxy.url)
    results = list(publisher.publish_many(map(outgoing, notifications), window=200))
    wanted = Counter(notification.id for notification in notifications)
    assert Counter(result.key for result in results) == wanted
    assert not any(result.error for result in results)
    assert Counter(rabbit.ids(5000)) == wanted
    assert proxy.accepted == 1


def test_no_more_than_the_window_is_unconfirmed(
    proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    taken = 0

    def items() -> Iterator[Outgoing]:
        nonlocal taken
        for _ in range(100):
            taken += 1
            yield outgoing(sms())

    confirmed = 0
    for result in publishing(proxy.url).publish_many(items(), window=10):
        confirmed += result.error is None
        assert taken - confirmed < 10
    assert confirmed == 100


def test_each_item_gets_its_own_error(rabbit: Rabbit, publisher: Publisher) -> None:
    small = rabbit.small_queue(length=1)
    for _ in publisher.publish_many([outgoing(sms(), small) for _ in range(5)]):
        pass
    good = [sms() for _ in range(100)]
    unbound = [sms(priority="urgent") for _ in range(100)]
    refused = [sms() for _ in range(100)]
    items = [
        item
        for three in zip(good, unbound, refused, strict=True)
        for item in (outgoing(three[0]), outgoing(three[1]), outgoing(three[2], small))
    ]
    results = {result.key: result.error for result in publisher.publish_many(items, window=50)}
    assert len(results) == 300
    assert {type(results[n.id]) for n in good} == {type(None)}
    assert {type(results[n.id]) for n in unbound} == {Unroutable}
    assert {type(results[n.id]) for n in refused} == {QueueFull}
    assert set(rabbit.ids(100)) == {n.id for n in good}


def test_a_missing_exchange_fails_what_is_under_way_and_no_more(
    rabbit: Rabbit, publisher: Publisher
) -> None:
    lost, after = [sms() for _ in range(3)], [sms() for _ in range(20)]
    items = [*(outgoing(n, "absent") for n in lost), *map(outgoing, after)]
    results = {r.key: r.error for r in publisher.publish_many(items, window=3)}
    assert {type(results[n.id]) for n in lost} == {Unroutable}
    fine = {id for id, error in results.items() if error is None}
    assert len(results) == 23
    assert fine == set(rabbit.ids(len(fine)))
    assert len(fine) >= 17


def test_a_cut_connection_loses_and_repeats_no_result(
    rabbit: Rabbit, proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    notifications = [sms() for _ in range(1000)]
    keys = []
    for result in publishing(proxy.url).publish_many(map(outgoing, notifications), window=50):
        assert result.error is None
        keys.append(result.key)
        if len(keys) in (200, 400, 600):
            proxy.cut()
    assert Counter(keys) == Counter(n.id for n in notifications)
    assert set(rabbit.ids(1000)) == set(keys)
    assert proxy.accepted == 4


def test_stopping_early_leaves_no_connection(
    proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    results = publishing(proxy.url).publish_many((outgoing(sms()) for _ in range(1000)), window=50)
    next(results)
    assert proxy.open == 1
    results.close()  # type: ignore[attr-defined]
    eventually(lambda: proxy.open == 0, "no connection left", 3)


def test_a_source_that_breaks_leaves_no_connection(
    proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    def items() -> Iterator[Outgoing]:
        for _ in range(10):
            yield outgoing(sms())
        raise ValueError("row 11 is broken")

    with pytest.raises(ValueError, match="row 11"):
        list(publishing(proxy.url).publish_many(items()))
    eventually(lambda: proxy.open == 0, "no connection left", 3)


def test_nothing_waits_for_a_source_that_is_slow(
    rabbit: Rabbit, proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    """Messages go together where they come together, and go anyway."""
    taken = 0

    def all_there() -> bool:
        return rabbit.depth() == taken

    def items() -> Iterator[Outgoing]:
        nonlocal taken
        for burst in (7, 1, 3, 1):
            for _ in range(burst):
                taken += 1
                yield outgoing(sms())
            eventually(all_there, "all of them in the queue")

    confirmed = 0
    for result in publishing(proxy.url).publish_many(items()):
        confirmed += result.error is None
        # And results come before the window is full.
        assert confirmed > taken - 8
    assert confirmed == taken == 12
    eventually(
        lambda: all(thread.name != "laggards" for thread in threading.enumerate()),
        "no thread left",
    )


def test_a_broker_that_falls_silent_holds_the_source_back(
    rabbit: Rabbit, proxy: Proxy, publishing: Callable[..., Publisher]
) -> None:
    taken = confirmed = 0

    def items() -> Iterator[Outgoing]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            assert taken - confirmed <= 100
            yield outgoing(sms("x" * 5000))

    flowing = threading.Timer(1.0, proxy.flow)
    for result in publishing(proxy.url).publish_many(items(), window=100):
        assert result.error is None
        confirmed += 1
        if confirmed == 200:
            proxy.pause()
            flowing.start()
    flowing.join()
    assert confirmed == rabbit.depth() == 1000
    assert proxy.accepted == 1


@pytest.mark.slow
def test_any_number_takes_the_same_memory(rabbit: Rabbit, publisher: Publisher) -> None:
    total, warm = 200_000, 20_000

    def items() -> Iterator[Outgoing]:
        for number in range(total):
            body = b"%d" % number
            small = Message(body=body, headers={}, properties={}, routing_key="sms.normal")
            yield Outgoing(key=number, exchange="notify", message=small)

    tracemalloc.start()
    try:
        for count, result in enumerate(publisher.publish_many(items()), 1):
            assert result.error is None
            if count == warm:
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == total == rabbit.depth()
    # A window of these takes less.
    assert most - before < 2_000_000
